package actions

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	errDepth = fmt.Errorf("at most %d levels are allowed", MaxDepth)
	errSize  = fmt.Errorf("at most %d bytes are allowed", MaxArgs)
	errUTF8  = errors.New("invalid UTF-8")
)

// canonicalise returns JSON text in the form of RFC 8785. It refuses whatever
// that form would map to the text of another value: the library has duplicate
// names and bad strings covered, numbers are checked here.
func canonicalise(args string) (string, error) {
	if len(args) > MaxArgs {
		return "", errSize
	}
	if !utf8.ValidString(args) {
		return "", errUTF8
	}
	if err := check(args); err != nil {
		return "", err
	}
	v := jsontext.Value(args)
	if err := v.Canonicalize(strict); err != nil {
		return "", err
	}
	if len(v) > MaxArgs {
		return "", errSize
	}
	return string(v), nil
}

// check reads all tokens once: depth, and numbers that a double merges.
func check(args string) error {
	d := jsontext.NewDecoder(strings.NewReader(args), strict)
	for {
		t, err := d.ReadToken()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case d.StackDepth() > MaxDepth:
			return errDepth
		case t.Kind() == '0':
			if err := checkNumber(t.String()); err != nil {
				return err
			}
		}
	}
}

// A numberError is a number whose canonical form is that of another number.
type numberError struct {
	literal string
	problem Problem
}

func (e *numberError) Error() string { return fmt.Sprintf("%.40s", e.literal) }

const maxInteger = 1 << 53 // beyond it, a double skips integers

// checkNumber refuses the numbers that RFC 8785 would merge with others: those
// that overflow or vanish in a double, integers beyond 2^53, and larger
// numbers with more digits than a double keeps. Fractions are doubles, as
// RFC 8259 lets receivers read them: 0.1 and 0.10000000000000001 are one.
func checkNumber(literal string) error {
	f, err := strconv.ParseFloat(literal, 64)
	bad := &numberError{literal, ProblemNumber}
	switch {
	case err != nil: // overflow
		return bad
	case f == 0:
		if digits, _ := decimal(literal); digits != "" { // underflow
			return bad
		}
		return nil
	case math.Abs(f) <= maxInteger:
		// 2^53+1 is read as 2^53: only the literal tells them apart.
		if math.Abs(f) < maxInteger || exact(literal, f) {
			return nil
		}
		return bad
	case math.Abs(f) < 1e21, !strings.ContainsAny(literal, ".eE"):
		return bad // an integer, as it is written or as RFC 8785 would write it
	case exact(literal, f):
		return nil
	}
	return bad
}

// exact reports whether the literal has the digits of the double's shortest
// decimal form.
func exact(literal string, f float64) bool {
	d1, e1 := decimal(literal)
	d2, e2 := decimal(strconv.FormatFloat(f, 'e', -1, 64))
	return d1 == d2 && e1 == e2
}

// decimal splits a JSON number into its significant digits and a power of ten
// so that the number is 0.DIGITS times ten to that power. Zero has no digits.
func decimal(literal string) (digits string, power int) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(strings.TrimLeft(literal, "+-")), "e")
	power, _ = strconv.Atoi(exponent) // saturates: such a number is refused anyway
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = whole + fraction
	power += len(whole)
	trimmed := strings.TrimLeft(digits, "0")
	power -= len(digits) - len(trimmed)
	return strings.TrimRight(trimmed, "0"), power
}
