package suites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	neturl "net/url"
	"path/filepath"
	"strings"

	"github.com/speccache/speccache-go/actions/web"
)

const (
	deny  = "deny"
	allow = "allow"
)

// An addressRow is a line of the suite ssrf.
type addressRow struct{ Kind, Value, Expect, Source string }

// playAddresses asks web.Guard, by the check and by a connection that is not
// made: its context has ended.
func playAddresses(r *Result, path string, named bool) error {
	if !named {
		path = filepath.Join(path, "cases.jsonl")
	}
	return readLines(path, func(n int, line []byte) error {
		var row addressRow
		if err := json.Unmarshal(line, &row); err != nil {
			return err
		}
		if row.Expect != deny && row.Expect != allow {
			return fmt.Errorf("expects %q: want deny or allow", row.Expect)
		}
		r.address(fmt.Sprintf("line %d, %s %s", n, row.Kind, row.Value), row)
		return nil
	})
}

func (r *Result) address(id string, row addressRow) {
	g, want := web.Guard{}, row.Expect
	switch addr, _ := netip.ParseAddr(row.Value); {
	case want != allow || row.Kind != "ip":
	case nat64.Contains(addr):
		r.note(id, "denied, as is all of "+nat64.String())
		want = deny
	case addr.IsPrivate() && strings.HasPrefix(row.Source, "stripe/smokescreen "):
		r.note(id, "allowed by Guard.Allow: by an option there, too")
		g.Allow = private
	}
	r.row(id, want, func() string { return verdict(g, row) })
}

// The rows that their projects decide otherwise: see the suite's README.
var (
	nat64   = netip.MustParsePrefix("64:ff9b:1::/48")
	private = []netip.Prefix{netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16")}
)

// verdict is deny or allow, or says why it is neither.
func verdict(g web.Guard, row addressRow) string {
	switch row.Kind {
	case "ip":
		addr, err := netip.ParseAddr(row.Value)
		if err != nil {
			return err.Error()
		}
		return ofAddresses(g, addr)
	case "cidr":
		addrs, err := of(row.Value)
		if err != nil {
			return err.Error()
		}
		return ofAddresses(g, addrs...)
	case "url":
		return ofURL(g, row.Value)
	}
	return fmt.Sprintf("no verdict: kind %q is none of ip, cidr and url", row.Kind)
}

// ofAddresses is the verdict that all addresses have.
func ofAddresses(g web.Guard, addrs ...netip.Addr) (all string) {
	for i, addr := range addrs {
		checked := allow
		if g.Check(addr) != nil {
			checked = deny
		}
		switch dialled := ofHost(g, addr.String()); {
		case dialled != checked:
			return fmt.Sprintf("%s by Check and %s by DialContext for %s", checked, dialled, addr)
		case i > 0 && checked != all:
			return fmt.Sprintf("%s for %s and %s for %s", all, addrs[0], checked, addr)
		}
		all = checked
	}
	return all
}

// of returns the first and the last address of a range, and two in the middle.
func of(cidr string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(cidr); err == nil {
		return []netip.Addr{addr}, nil
	}
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil, err
	}
	return []netip.Addr{fill(p, 0), fill(p, 0xff), fill(p, 0x55), fill(p, 0xaa)}, nil
}

// fill returns the address of a range whose free bits are those of pattern.
func fill(p netip.Prefix, pattern byte) netip.Addr {
	bytes := p.Masked().Addr().AsSlice()
	for i := range bytes {
		fixed := min(max(p.Bits()-8*i, 0), 8)
		bytes[i] |= pattern & byte(0xff>>fixed)
	}
	addr, _ := netip.AddrFromSlice(bytes)
	return addr
}

// ofURL is the verdict on the host that a fetcher would connect to. A URL that
// is no visit is not connected to either.
func ofURL(g web.Guard, url string) string {
	a, err := web.Visit(url)
	if err != nil {
		return deny
	}
	var args struct{ URL string }
	if err := a.Decode(&args); err != nil {
		return err.Error()
	}
	u, err := neturl.Parse(args.URL)
	if err != nil {
		return err.Error()
	}
	return ofHost(g, u.Hostname())
}

// ofHost is the verdict on a host that is an address, or a name that is refused
// wherever it leads. Others would need a resolver.
func ofHost(g web.Guard, host string) string {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	conn, err := g.DialContext(ended, "tcp", net.JoinHostPort(host, "80"))
	if err == nil {
		conn.Close()
		return "a connection, although the context had ended"
	}
	if _, refused := errors.AsType[*web.AddressError](err); refused {
		return deny
	}
	if _, literal := netip.ParseAddr(host); literal == nil && errors.Is(err, context.Canceled) {
		return allow
	}
	return fmt.Sprintf("no verdict: %v", err)
}
