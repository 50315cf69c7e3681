package web

import (
	"context"
	"net/netip"
	"strings"

	"github.com/speccache/speccache-go/actions"
)

// Resolve returns the canonical URL of a reference on a page, with the short
// cut for plain paths and without it. Refused references have the URL "".
func Resolve(page, base, ref string) (quick, slow string, err error) {
	r, err := newResolver(page, base)
	if err != nil {
		return "", "", err
	}
	q, _, err := r.resolve(ref)
	if err != nil {
		q.url = ""
	}
	s, err := canonicalise(trim(ref), r.base)
	if err != nil {
		s.url = ""
	}
	return q.url, s.url, nil
}

// IsPlain reports whether the short cut is taken.
func IsPlain(ref string) bool {
	page, _, _ := strings.Cut(ref, "#")
	host, path := cutOrigin(page)
	return plain(page) || plainHost(host) && plain(path)
}

// Host returns the host that a visit asks, and the same without any short cut.
func Host(a actions.Action) (quick, slow string) {
	to, err := canonicalise(trim(urlOf(a)), nil)
	if err != nil {
		return hostOf(a), ""
	}
	return hostOf(a), to.host
}

// ActionLike exports the policy's rule for words.
func ActionLike(url string) bool { return actionLike(url) }

// WithLookup returns a guard with a resolver of a test's own.
func WithLookup(g Guard, lookup func(ctx context.Context, host string) ([]netip.Addr, error)) Guard {
	g.lookup = lookup
	return g
}

// WithOwn returns a guard on a machine whose addresses a test chooses.
func WithOwn(g Guard, own func(netip.Addr) bool) Guard {
	g.own = own
	return g
}

// OwnAddress reports whether the system says that an address is this machine's.
func OwnAddress(addr netip.Addr) bool { return ownAddress(addr) }
