package web

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A Guard keeps requests away from addresses that are not the public Internet's:
// the machine's own, public ones included, those of private networks, of clouds' metadata services,
// and whatever else the IANA's special-purpose registries list. It decides when a
// connection is made, on what a name resolves to, and connects to exactly that: a
// name that resolves to something else a moment later, or a redirect, gains
// nothing.
//
// The zero Guard lets nothing special through. Guards may be copied, and used
// concurrently; their fields are not changed then.
//
// A Fetcher's own pool of connections has one. A transport of your own takes its
// DialContext:
//
//	transport.DialContext = web.Guard{}.DialContext
//
// which is asked for the proxy's address and not the site's if the transport has
// a proxy.
type Guard struct {
	// Allow are addresses that would be refused, and are not: [Loopback] for
	// tests and local sites, the prefix of a network of your own. Nil: none.
	// An address in it is let through by whatever name.
	Allow []netip.Prefix

	lookup func(ctx context.Context, host string) ([]netip.Addr, error) // nil: the system's
	own    func(addr netip.Addr) bool                                   // nil: the system's
}

// Loopback are the machine's own addresses: 127.0.0.0/8 and ::1.
func Loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// An AddressError says that a [Guard] does not let a request through.
type AddressError struct {
	Host string     // as it was asked for
	Addr netip.Addr // that is refused; the zero Addr if the name itself is
	Rule string     // what the address is for, such as "private network"
}

// Error says what was refused, and how to allow it.
func (e *AddressError) Error() string {
	if !e.Addr.IsValid() {
		return fmt.Sprintf("web: host %.100q: refused: %s (web.Config.Guard can allow it)", e.Host, e.Rule)
	}
	return fmt.Sprintf("web: host %.100q: address %s is refused: %s (web.Config.Guard can allow it)", e.Host, e.Addr, e.Rule)
}

// RefusalRule returns "address", by which speccache counts runs ahead that ended
// so. Rule says more.
func (e *AddressError) RefusalRule() string { return "address" }

// Check returns an [*AddressError] if an address is refused.
func (g Guard) Check(addr netip.Addr) error { return g.check(addr.String(), addr) }

func (g Guard) check(host string, addr netip.Addr) error {
	if g.allows(addr) {
		return nil
	}
	if rule := ruleOf(addr); rule != "" {
		return &AddressError{host, addr, rule}
	}
	if g.isOwn(addr) {
		return &AddressError{host, addr, "an address of this machine"}
	}
	return nil
}

// isOwn reports whether a public address is this machine's: whatever listens on
// all addresses would answer there, and hosts know the address from our visits.
func (g Guard) isOwn(addr netip.Addr) bool {
	if g.own != nil {
		return g.own(addr)
	}
	return ownAddress(addr)
}

// ownAddress asks the system where it would reach an address from: its own ones
// from themselves. Nothing is sent. Where that can't be told, there is no way.
func ownAddress(addr netip.Addr) bool {
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, 9)))
	if err != nil {
		return false
	}
	defer conn.Close()
	from, ok := conn.LocalAddr().(*net.UDPAddr)
	return ok && from.AddrPort().Addr().Unmap() == addr
}

func (g Guard) allows(addr netip.Addr) bool {
	return slices.ContainsFunc(g.Allow, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// ruleOf says what an address is reserved for, or "".
func ruleOf(addr netip.Addr) string {
	switch {
	case !addr.IsValid():
		return "no address"
	case addr.Zone() != "":
		return "an interface of this machine"
	case addr.Is4In6():
		return "an IPv4 address in disguise"
	}
	for _, s := range specials {
		if s.prefix.Contains(addr) {
			return s.use
		}
	}
	return ""
}

// specials are what is not to be connected to. Where an IPv6 address embeds an
// IPv4 one, the whole prefix is refused: the way there leads through somebody's
// gateway.
//
// Sources: IANA, IPv4 and IPv6 Special-Purpose Address Registries, and the RFC
// that each entry names.
var specials = []struct {
	prefix netip.Prefix
	use    string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network (RFC 791)"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private network (RFC 1918)"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared by a provider (RFC 6598)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback (RFC 1122)"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local, and cloud metadata (RFC 3927)"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private network (RFC 1918)"},
	{netip.MustParsePrefix("192.0.0.0/24"), "protocol assignments (RFC 6890)"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation (RFC 5737)"},
	{netip.MustParsePrefix("192.31.196.0/24"), "AS112 (RFC 7535)"},
	{netip.MustParsePrefix("192.52.193.0/24"), "AMT (RFC 7450)"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relays (RFC 7526)"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private network (RFC 1918)"},
	{netip.MustParsePrefix("192.175.48.0/24"), "AS112 (RFC 7534)"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarks (RFC 2544)"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation (RFC 5737)"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation (RFC 5737)"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast (RFC 5771)"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved (RFC 1112)"},

	{netip.MustParsePrefix("::1/128"), "loopback (RFC 4291)"},
	{netip.MustParsePrefix("::/96"), "unspecified, and IPv4 in disguise (RFC 4291)"},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), "IPv4 as SIIT translated it (RFC 2765)"},
	{netip.MustParsePrefix("64:ff9b::/96"), "NAT64 (RFC 6052)"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "NAT64 of a network (RFC 8215)"},
	{netip.MustParsePrefix("100::/64"), "discard (RFC 6666)"},
	{netip.MustParsePrefix("100:0:0:1::/64"), "dummy prefix (RFC 9780)"},
	{netip.MustParsePrefix("2001::/23"), "protocol assignments, Teredo among them (RFC 2928, RFC 4380)"},
	{netip.MustParsePrefix("2001:db8::/32"), "documentation (RFC 3849)"},
	{netip.MustParsePrefix("2002::/16"), "6to4 (RFC 3056)"},
	{netip.MustParsePrefix("2620:4f:8000::/48"), "AS112 (RFC 7534)"},
	{netip.MustParsePrefix("3fff::/20"), "documentation (RFC 9637)"},
	{netip.MustParsePrefix("5f00::/16"), "segment routing (RFC 9602)"},
	{netip.MustParsePrefix("fc00::/7"), "unique local, and cloud metadata (RFC 4193)"},
	{netip.MustParsePrefix("fe80::/10"), "link-local (RFC 4291)"},
	{netip.MustParsePrefix("fec0::/10"), "site-local (RFC 3879)"},
	{netip.MustParsePrefix("ff00::/8"), "multicast (RFC 4291)"},

	// Outside of the registries.
	{netip.MustParsePrefix("168.63.129.16/32"), "cloud metadata (Azure)"},
}

// ownNames are names that mean this machine or its cloud's metadata service,
// wherever a resolver says that they are.
var ownNames = []string{"localhost", "metadata.google.internal", "metadata.goog", "instance-data"}

// refusedName reports whether a host is one of those, or below one.
func refusedName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.ContainsFunc(ownNames, func(name string) bool {
		return host == name || strings.HasSuffix(host, "."+name)
	})
}

// dialTimeout bounds the way to one of several addresses, and to all.
const (
	dialTimeout    = 15 * time.Second
	dialTimeoutOne = 5 * time.Second
)

// DialContext connects to a host that is a name or an address, if all its
// addresses are allowed: to the first that answers, in the resolver's order. The
// error is an [*AddressError] or net's.
func (g Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addrs, err := g.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	for i, addr := range addrs {
		var conn net.Conn
		if conn, err = g.dial(ctx, network, net.JoinHostPort(addr.String(), port), i+1 < len(addrs)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// addresses returns what a host stands for, if all of it is allowed.
func (g Guard) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, g.check(host, addr)
	}
	own := refusedName(host)
	if own && len(g.Allow) == 0 { // nothing that it stands for can be allowed: no resolver need know
		return nil, ownName(host)
	}
	addrs, err := g.resolve(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("web: host %.100q: %w", host, err)
	}
	for i, addr := range addrs {
		addrs[i] = addr.Unmap() // as resolvers write IPv4 addresses
		if err := g.check(host, addrs[i]); err != nil {
			return nil, err
		}
		own = own && !g.allows(addrs[i])
	}
	switch {
	case len(addrs) == 0:
		return nil, &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	case own: // although it leads elsewhere
		return nil, ownName(host)
	}
	return addrs, nil
}

func ownName(host string) error {
	return &AddressError{Host: host, Rule: "a name of this machine or of cloud metadata"}
}

func (g Guard) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if g.lookup != nil {
		return g.lookup(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

func (g Guard) dial(ctx context.Context, network, literal string, others bool) (net.Conn, error) {
	d := net.Dialer{ControlContext: g.control}
	if others {
		d.Timeout = dialTimeoutOne
	}
	return d.DialContext(ctx, network, literal)
}

// control is asked by package net with the address that it is about to connect
// to: what was checked is what is dialled, whatever lies between.
func (g Guard) control(_ context.Context, _, literal string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(literal)
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	return g.check(literal, to.Addr())
}
