package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// refused returns the rule of an AddressError, or "".
func refused(err error) string {
	if e, ok := errors.AsType[*web.AddressError](err); ok {
		return e.Rule
	}
	return ""
}

func check(t *testing.T, g web.Guard, addr string) string {
	t.Helper()
	a, err := netip.ParseAddr(addr)
	require.NoError(t, err)
	return refused(g.Check(a))
}

func TestSpecialAddressesAreRefusedAndPublicOnesAreNot(t *testing.T) {
	for _, addr := range []string{"8.8.8.8", "100.128.0.1", "1.1.1.1", "2606:4700:4700::1111", "2001:4860:4860::8888", "2a00:1450::1"} {
		assert.Empty(t, check(t, web.Guard{}, addr), addr)
	}
	for _, addr := range []string{
		"127.0.0.1", "0.0.0.0", "10.1.2.3", "172.31.255.255", "192.168.0.1", "169.254.169.254", "100.100.100.200", "192.0.0.192",
		"168.63.129.16", "255.255.255.255", "::", "::1", "::ffff:8.8.8.8", "::ffff:127.0.0.1", "::8.8.8.8", "::ffff:0:127.0.0.1", "64:ff9b::808:808",
		"64:ff9b:1:808:8:800::", "2002:808:808::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "fd00:ec2::254", "fe80::1", "fe80::1%lo",
		"2606:4700:4700::1111%eth0", "fec0::1", "ff02::1", "3fff::1", "100::1", "100:0:0:1::1",
	} {
		assert.NotEmpty(t, check(t, web.Guard{}, addr), addr)
	}
	assert.Equal(t, "no address", refused(web.Guard{}.Check(netip.Addr{})))
}

func TestWhatIsAllowedIsLetThroughAndNothingBeside(t *testing.T) {
	g := web.Guard{Allow: append(web.Loopback(), netip.MustParsePrefix("10.1.0.0/16"))}
	for _, addr := range []string{"127.0.0.1", "127.9.9.9", "::1", "10.1.2.3"} {
		assert.Empty(t, check(t, g, addr), addr)
	}
	for _, addr := range []string{"10.2.0.1", "::ffff:127.0.0.1", "::2", "::1%lo"} {
		assert.NotEmpty(t, check(t, g, addr), addr)
	}
}

// The public suite: see its README. What smokescreen allows by an option for
// private ranges is allowed here by Allow.
func TestThePublicSuiteOfAddresses(t *testing.T) {
	file, err := os.Open(shared(t, "suites", "ssrf", "cases.jsonl"))
	require.NoError(t, err)
	defer file.Close()
	total := 0
	for lines := bufio.NewScanner(file); lines.Scan(); total++ {
		var c struct{ Kind, Value, Expect, Note string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		var g web.Guard
		switch c.Value {
		case "172.16.1.1", "192.168.1.1":
			if c.Expect == "allow" {
				g.Allow = []netip.Prefix{netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16")}
			}
		case "64:ff9b:1:808:8:800::":
			c.Expect = "deny" // the disputed one: all of 64:ff9b:1::/48 is
		}
		for _, addr := range addressesOf(t, c.Kind, c.Value) {
			assert.Equal(t, c.Expect == "deny", g.Check(addr) != nil, "%s %s: %s", c.Kind, c.Value, addr)
			assert.Equal(t, c.Expect == "deny", refused(dial(t, g, addr)) != "", "%s %s: %s", c.Kind, c.Value, addr)
		}
	}
	assert.Equal(t, 125, total)
}

// addressesOf returns what a row of the suite is about: of a range the first,
// the last and one in the middle.
func addressesOf(t *testing.T, kind, value string) []netip.Addr {
	switch kind {
	case "cidr":
		if !strings.Contains(value, "/") {
			return []netip.Addr{netip.MustParseAddr(value)}
		}
		p := netip.MustParsePrefix(value)
		first := p.Masked().Addr()
		return []netip.Addr{first, edge(p, 0xff), edge(p, 0x55)}
	case "url":
		a, err := web.Visit(value)
		require.NoError(t, err)
		var args struct{ URL string }
		require.NoError(t, a.Decode(&args))
		req, err := http.NewRequest(http.MethodGet, args.URL, nil)
		require.NoError(t, err)
		return []netip.Addr{netip.MustParseAddr(req.URL.Hostname())}
	}
	return []netip.Addr{netip.MustParseAddr(value)}
}

// edge returns an address of a range whose free bits are those of fill.
func edge(p netip.Prefix, fill byte) netip.Addr {
	bytes := p.Masked().Addr().AsSlice()
	for i := range bytes {
		free := byte(0xff)
		if n := p.Bits() - 8*i; n >= 8 {
			free = 0
		} else if n > 0 {
			free >>= n
		}
		bytes[i] |= fill & free
	}
	addr, _ := netip.AddrFromSlice(bytes)
	return addr
}

// dial asks a guard to connect to a name that resolves to one address, with a
// context that has ended: what is allowed fails because of that.
func dial(t *testing.T, g web.Guard, addr netip.Addr) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g = web.WithLookup(g, func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{addr}, nil })
	conn, err := g.DialContext(ctx, "tcp", "site.example:80")
	require.Nil(t, conn)
	require.Error(t, err)
	return err
}

// door counts who comes in at 127.0.0.1.
func door(t *testing.T) (port string, visitors *atomic.Int64) {
	t.Helper()
	return doorAt(t, "127.0.0.1:0")
}

func doorAt(t *testing.T, address string) (port string, visitors *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	require.NoError(t, err)
	visitors = new(atomic.Int64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			visitors.Add(1)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	_, port, err = net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port, visitors
}

func TestANameIsRefusedIfOneOfItsAddressesIs(t *testing.T) {
	port, visitors := door(t)
	public, own := netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("127.0.0.1")
	for _, answer := range [][]netip.Addr{{own}, {public, own}, {own, public}, {netip.MustParseAddr("::ffff:127.0.0.1")}} {
		g := web.WithLookup(web.Guard{}, func(context.Context, string) ([]netip.Addr, error) { return answer, nil })
		_, err := g.DialContext(t.Context(), "tcp", "site.example:"+port)
		assert.IsType(t, &web.AddressError{}, err, "%v: no connection is tried", answer)
		assert.ErrorContains(t, err, "Config.Guard")
		var counted interface{ RefusalRule() string }
		if assert.ErrorAs(t, err, &counted) {
			assert.Equal(t, "address", counted.RefusalRule())
		}
	}
	assert.Zero(t, visitors.Load())
}

// A resolver may say something else the next time: there is none.
func TestANameIsResolvedOnceForAConnection(t *testing.T) {
	port, visitors := door(t)
	var asked atomic.Int64
	g := web.WithLookup(web.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}, func(context.Context, string) ([]netip.Addr, error) {
		if asked.Add(1) > 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.2")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	})
	conn, err := g.DialContext(t.Context(), "tcp", "site.example:"+port)
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1:"+port, conn.RemoteAddr().String())
	conn.Close()
	_, err = g.DialContext(t.Context(), "tcp", "site.example:"+port)
	assert.NotEmpty(t, refused(err))
	require.Eventually(t, func() bool { return visitors.Load() == 1 }, 10*time.Second, time.Millisecond)
}

func TestNamesOfThisMachineAreRefusedWhereverTheyLead(t *testing.T) {
	asked := 0
	public := func(context.Context, string) ([]netip.Addr, error) {
		asked++
		return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
	}
	hosts := []string{"localhost", "LOCALHOST.", "a.localhost", "metadata.google.internal", "metadata.google.internal.", "instance-data"}
	for _, host := range hosts {
		_, err := web.WithLookup(web.Guard{}, public).DialContext(t.Context(), "tcp", host+":80")
		assert.NotEmpty(t, refused(err), host)
	}
	assert.Zero(t, asked, "no resolver is told, where no answer could be allowed")
	for _, host := range hosts {
		_, err := web.WithLookup(web.Guard{Allow: web.Loopback()}, public).DialContext(t.Context(), "tcp", host+":80")
		assert.NotEmpty(t, refused(err), host)
	}
	assert.Equal(t, len(hosts), asked)
}

// The door is open on all addresses of this machine: a connection to any of the
// refused ones would be counted. Statuses that are no redirects with a Location
// to follow end the visit instead.
func TestNoRedirectLeadsToARefusedAddress(t *testing.T) {
	port, visitors := doorAt(t, ":0")
	names := map[string]string{
		"private.example":          "10.0.0.1",
		"rebound.example":          "127.0.0.2",
		"metadata.google.internal": "8.8.8.8", // refused by its name alone
	}
	lookup := func(_ context.Context, host string) ([]netip.Addr, error) {
		addr, err := netip.ParseAddr(names[host])
		return []netip.Addr{addr}, err
	}
	for _, code := range []int{300, 301, 302, 303, 305, 307, 308} {
		for _, host := range []string{
			"127.0.0.2", "[::1]", "2130706434", "0x7f.2", "017700000002", "127.2", "[::ffff:127.0.0.2]", "0", "169.254.169.254",
			"private.example", "rebound.example", "metadata.google.internal",
		} {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://"+host+":"+port)
				w.WriteHeader(code)
			}))
			guard := web.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
			f := web.New(web.Config{Guard: web.WithLookup(guard, lookup)})
			_, err := f.Do(t.Context(), visit(t, srv.URL))
			require.Error(t, err)
			if status, ended := errors.AsType[*web.StatusError](err); ended {
				assert.Contains(t, []int{300, 305}, status.Code, host)
			} else {
				assert.NotEmpty(t, refused(err), "%d %s: %v", code, host, err)
			}
			f.Close()
			srv.Close()
		}
	}
	assert.Zero(t, visitors.Load())
}

func TestProxiesOfTheEnvironmentDoNotBypassTheGuard(t *testing.T) {
	port, visitors := door(t)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://127.0.0.1:"+port)
	}
	f := web.New(web.Config{})
	defer f.Close()
	_, err := f.Do(t.Context(), visit(t, "http://10.0.0.1/"))
	assert.NotEmpty(t, refused(err))
	assert.Zero(t, visitors.Load())
}

func TestTheZeroConfigVisitsNothingOnThisMachine(t *testing.T) {
	port, visitors := door(t)
	f := web.New(web.Config{})
	defer f.Close()
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "0", "127.1"} {
		_, err := f.Do(t.Context(), visit(t, "http://"+host+":"+port))
		assert.NotEmpty(t, refused(err), host)
	}
	assert.Zero(t, visitors.Load())
}

func FuzzGuard(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1}, "site.example:80")
	f.Add(netip.MustParseAddr("::ffff:8.8.8.8").AsSlice(), "[::1]:443")
	f.Fuzz(func(t *testing.T, bytes []byte, address string) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		g := web.WithLookup(web.Guard{}, func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no resolver") })
		if conn, err := g.DialContext(ctx, "tcp", address); err == nil {
			conn.Close()
			t.Fatal("no connection is made with a context that has ended")
		}
		addr, ok := netip.AddrFromSlice(bytes)
		if !ok {
			return
		}
		err := web.Guard{}.Check(addr)
		if addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified() {
			require.Error(t, err)
		}
		if addr.Is4() {
			mapped := netip.AddrFrom16(addr.As16())
			require.Error(t, web.Guard{}.Check(mapped), "in disguise")
			g := web.WithLookup(web.Guard{}, func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{mapped}, nil })
			_, dialled := g.DialContext(ctx, "tcp", "site.example:80")
			require.Equal(t, refused(err), refused(dialled), "resolvers write IPv4 addresses so")
		}
	})
}

// What listens on all addresses of a machine is reached by its public ones too,
// past whatever stands in front of it, and each host sees from where it is visited.
func TestPublicAddressesOfThisMachineAreRefused(t *testing.T) {
	mine, other := netip.MustParseAddr("2a00:1450::1"), netip.MustParseAddr("8.8.8.8")
	g := web.WithOwn(web.Guard{}, func(addr netip.Addr) bool { return addr == mine })
	assert.Equal(t, "an address of this machine", refused(g.Check(mine)))
	assert.NoError(t, g.Check(other))
	g = web.WithLookup(g, func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{other, mine}, nil })
	for _, host := range []string{"site.example:80", "[" + mine.String() + "]:80"} {
		_, err := g.DialContext(t.Context(), "tcp", host)
		assert.NotEmpty(t, refused(err), host)
	}
	g.Allow = []netip.Prefix{netip.PrefixFrom(mine, 128)}
	assert.NoError(t, g.Check(mine))
}

func TestTheSystemKnowsTheAddressesOfThisMachine(t *testing.T) {
	all, err := net.InterfaceAddrs()
	require.NoError(t, err)
	found := 0
	for _, a := range all {
		prefix, err := netip.ParsePrefix(a.String())
		require.NoError(t, err)
		if addr := prefix.Addr(); !addr.IsLinkLocalUnicast() { // which need a zone
			found++
			assert.True(t, web.OwnAddress(addr), addr)
		}
	}
	assert.Positive(t, found)
	for _, addr := range []string{"8.8.8.8", "2606:4700:4700::1111"} {
		assert.False(t, web.OwnAddress(netip.MustParseAddr(addr)), addr)
	}
}
