package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A harness runs tests on broken copies of files.
type harness struct {
	root, scratch string
	overlays      map[string]string // by mutant

	mu    sync.Mutex
	whole map[string]bool // by folder: whether all its tests pass
}

// A verdict is what became of a mutant.
type verdict struct {
	caught bool
	how    string // the test that failed, or what went wrong
	took   time.Duration
}

func (v verdict) word() string {
	if v.caught {
		return "killed"
	}
	return "SURVIVED"
}

// A mutant may hang. The tests that are named are short.
const (
	namedTimeout = time.Minute
	wholeTimeout = 5 * time.Minute
)

// prepare breaks the files, all before the first test: a mutant that has lost
// its place is a fault of the table.
func (h *harness) prepare(all []mutant) (faults error) {
	h.overlays, h.whole = map[string]string{}, map[string]bool{}
	for i, m := range all {
		overlay, err := h.breakFile(m, fmt.Sprint(i))
		if err == nil && h.overlays[m.name] != "" {
			err = errors.New("there are two of that name")
		}
		if err != nil {
			faults = errors.Join(faults, fmt.Errorf("%s: %s: %w", m.name, m.file, err))
		}
		h.overlays[m.name] = overlay
	}
	return faults
}

// breakFile writes the broken file and an overlay that puts it in place.
func (h *harness) breakFile(m mutant, id string) (overlay string, err error) {
	file := filepath.Join(h.root, filepath.FromSlash(m.file))
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for _, e := range m.edits {
		if n := bytes.Count(text, []byte(e.old)); n != 1 {
			return "", fmt.Errorf("the text to change is there %d times and not once: the code has changed, so must the table:\n%s", n, e.old)
		}
		text = bytes.Replace(text, []byte(e.old), []byte(e.new), 1)
	}
	broken := filepath.Join(h.scratch, id+".go")
	if err := os.WriteFile(broken, text, 0o600); err != nil {
		return "", err
	}
	overlay = filepath.Join(h.scratch, id+".json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: broken}})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, replace, 0o600)
}

// baseline runs the named tests on the code as it is: a test that fails anyway
// catches nothing.
func (h *harness) baseline(ctx context.Context, selected []mutant) error {
	named := map[string][]string{}
	for _, m := range selected {
		named[m.folder()] = append(named[m.folder()], m.tests)
	}
	for folder, tests := range named {
		if out, err := h.test(ctx, wholeTimeout, quick, "-run="+strings.Join(tests, "|"), "./"+folder); err != nil {
			return fmt.Errorf("the tests of %s fail without any mutant: %w\n%s", folder, err, tail(out))
		}
	}
	return nil
}

// sound reports whether all tests of a package pass on the code as it is. It
// looks once.
func (h *harness) sound(ctx context.Context, folder string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	ok, known := h.whole[folder]
	if !known {
		_, err := h.test(ctx, wholeTimeout, "./"+folder)
		ok = err == nil
		h.whole[folder] = ok
	}
	return ok
}

func (m mutant) folder() string {
	if m.in != "" {
		return m.in
	}
	return filepath.ToSlash(filepath.Dir(m.file))
}

// try runs the tests that must catch a mutant, and if they do not, all others
// of their package.
func (h *harness) try(ctx context.Context, m mutant) (v verdict) {
	began := time.Now()
	defer func() { v.took = time.Since(began) }()
	overlay, folder := "-overlay="+h.overlays[m.name], "./"+m.folder()
	out, err := h.test(ctx, namedTimeout, overlay, quick, "-failfast", "-run="+m.tests, folder)
	switch {
	case ctx.Err() != nil:
		return verdict{how: "interrupted"}
	case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
		return verdict{how: "it does not build:\n" + tail(out)}
	case bytes.Contains(out, []byte("no tests to run")):
		return verdict{how: "there is no test " + m.tests}
	case err != nil:
		return verdict{caught: true, how: failed(out)}
	case !h.sound(ctx, m.folder()):
		return verdict{how: "the named tests pass, and others fail without it"}
	}
	if out, err = h.test(ctx, wholeTimeout, overlay, "-failfast", folder); err != nil {
		return verdict{caught: ctx.Err() == nil, how: failed(out) + ", not by the tests named"}
	}
	return verdict{how: "all tests of " + m.folder() + " pass"}
}

// quick makes compilers optimise nothing, which takes most of the time.
const quick = "-gcflags=-N -l"

func (h *harness) test(ctx context.Context, most time.Duration, args ...string) ([]byte, error) {
	args = append([]string{"test", "-count=1", "-vet=off", "-timeout=" + most.String()}, args...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = h.root
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}

var failure = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// failed returns the name of what failed, as exactly as the output says.
func failed(out []byte) string {
	if all := failure.FindAllSubmatch(out, -1); len(all) > 0 {
		name := string(all[0][1])
		for _, m := range all { // the innermost
			if strings.HasPrefix(string(m[1]), name) {
				name = string(m[1])
			}
		}
		return name
	}
	for _, sign := range []string{"test timed out", "goleak", "deadlock", "panic: ", "fatal error: "} {
		if bytes.Contains(out, []byte(sign)) {
			return strings.TrimSuffix(sign, ": ")
		}
	}
	return "a failure without a name"
}

// tail is as much of an output as a reader wants to see.
func tail(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}
