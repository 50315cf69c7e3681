package web_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// digits are the ways to write a number in an IPv4 address.
var digits = []string{"%d", "0%o", "0x%x", "0X%X", "0000000%o", "0x0000000%x"}

// texts returns ways to write an IPv4 address that resolvers and browsers know:
// each part in any base, and the last parts as one number.
func texts(addr netip.Addr) (list []string) {
	b := addr.As4()
	for _, parts := range [][]uint32{
		{uint32(b[0]), uint32(b[1]), uint32(b[2]), uint32(b[3])},
		{uint32(b[0]), uint32(b[1]), uint32(b[2])<<8 | uint32(b[3])},
		{uint32(b[0]), uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])},
		{uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])},
	} {
		for i := range digits {
			for step := range digits { // a base for each part
				var text []string
				for j, part := range parts {
					text = append(text, fmt.Sprintf(digits[(i+j*step)%len(digits)], part))
				}
				list = append(list, strings.Join(text, "."))
			}
		}
	}
	return list
}

// translate replaces the characters of a host by others that mean the same to
// somebody.
func translate(host string, digit rune, dot string) string {
	var b strings.Builder
	for _, c := range host {
		switch {
		case c >= '0' && c <= '9' && digit != 0:
			b.WriteRune(digit + c - '0')
		case c == '.':
			b.WriteString(dot)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

func percent(host string) string {
	var b strings.Builder
	for i := range len(host) {
		fmt.Fprintf(&b, "%%%02x", host[i])
	}
	return b.String()
}

// disguises returns IPv6 addresses that embed an IPv4 one.
func disguises(addr netip.Addr) (list []string) {
	b := addr.As4()
	hex := fmt.Sprintf("%x:%x", uint16(b[0])<<8|uint16(b[1]), uint16(b[2])<<8|uint16(b[3]))
	turned := fmt.Sprintf("%x:%x", ^(uint16(b[0])<<8 | uint16(b[1])), ^(uint16(b[2])<<8 | uint16(b[3])))
	for _, before := range []string{"::ffff:", "0:0:0:0:0:ffff:", "::FFFF:", "::", "::ffff:0:", "64:ff9b::", "64:ff9b:1::", "fe80::5efe:", "fe80::200:5efe:"} {
		list = append(list, "["+before+hex+"]", "["+before+addr.String()+"]")
	}
	return append(list, "[2002:"+hex+"::1]", "[2002:"+hex+"::]", "[2001:0:4136:e378:8000:63bf:"+turned+"]", "[2001::"+hex+"]", "[::ffff:"+addr.String()+"%25lo]")
}

func bypassesOf4(addr netip.Addr) []string {
	hosts := append(texts(addr), disguises(addr)...)
	for _, dot := range []string{"\u3002", "\uff0e", "\uff61", "%2e", "%E3%80%82"} {
		hosts = append(hosts, translate(addr.String(), 0, dot), translate(addr.String(), '\uff10', dot), translate(addr.String(), '\U0001d7ce', dot))
	}
	for _, h := range []string{addr.String(), fmt.Sprint(texts(addr)[len(texts(addr))-1])} {
		hosts = append(hosts, h+".", h+"..", h+"%2e", percent(h), strings.ToUpper(percent(h)), h+"%00", h+"\u00ad", "\u200b"+h, h+"\t", "\t"+h, h+"%20", h+".nip.example",
			"user@"+h, "user:pass@"+h, "public.example@"+h, "public.example%40"+h, "public.example:80@"+h, "@"+h, ":@"+h, h+"#@public.example", h+"?@public.example", h+`\@public.example`,
			"public.example#@"+h, `public.example\@`+h, "public.example&@"+h+"#", h+":80", h+":080", h+":", h+":+80", h+":80:80", "["+h+"]", h+"/@public.example", "%00"+h, h+"%0d%0aHost:x")
	}
	return hosts
}

func bypassesOf6(addr netip.Addr) (hosts []string) {
	b := addr.As16()
	long := strings.ReplaceAll(addr.StringExpanded(), "0000", "0")
	tail := fmt.Sprintf("%s:%d.%d.%d.%d", strings.Join(strings.Split(addr.StringExpanded(), ":")[:6], ":"), b[12], b[13], b[14], b[15])
	for _, h := range []string{addr.String(), addr.StringExpanded(), strings.ToUpper(addr.String()), long, tail} {
		hosts = append(hosts, "["+h+"]", "["+h+"]:80", "["+h+"%25lo]", "["+h+"%lo]", "user@["+h+"]", "["+h+"].", "[%3a"+h+"]", "["+h, h+"]", h, "[["+h+"]]", "["+h+"%2f96]", "[ "+h+"]", percent("["+h+"]"))
	}
	return hosts
}

// bypasses returns URLs that mean an address that is refused to somebody, or seem
// to mean another one.
func bypasses() (urls []string) {
	var hosts []string
	for _, addr := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.1", "192.168.1.1", "172.16.0.1", "100.100.100.200", "0.0.0.0"} {
		hosts = append(hosts, bypassesOf4(netip.MustParseAddr(addr))...)
	}
	for _, addr := range []string{"::1", "::", "fd00:ec2::254", "fe80::1", "fc00::1"} {
		hosts = append(hosts, bypassesOf6(netip.MustParseAddr(addr))...)
	}
	for _, h := range []string{"localhost", "LOCALHOST", "localhost.", "a.localhost", "metadata.google.internal", "metadata.google.internal.", "instance-data", "l\u24deca\u24dbhost", "\uff4cocalhost", "loc%61lhost"} {
		hosts = append(hosts, h, h+":80", "user@"+h, "public.example@"+h)
	}
	for i, h := range hosts {
		urls = append(urls, "http://"+h+"/")
		switch i % 6 { // the ways to begin are many, and have nothing to do with the host
		case 0:
			urls = append(urls, "https://"+h+"/x")
		case 1:
			urls = append(urls, "http:"+h, "HTTP:/"+h)
		case 2:
			urls = append(urls, `http:\\`+h+`\x`)
		case 3:
			urls = append(urls, "http:////"+h+"/")
		case 4:
			urls = append(urls, "ht\ntp://"+h+"/")
		case 5:
			urls = append(urls, " \thttp://"+h+" ")
		}
	}
	slices.Sort(urls)
	return slices.Compact(urls) // several bases write a zero alike
}

// Every name that is none of the forms above leads to a refused address too, so
// that whatever comes as far as a connection is refused then. That one is tried
// shows in the error.
func TestNoWayToWriteARefusedAddressLeadsToAConnection(t *testing.T) {
	urls := bypasses()
	assert.GreaterOrEqual(t, len(urls), 1110)
	guard := web.WithLookup(web.Guard{}, func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
	})
	f := web.New(web.Config{Guard: guard, Timeout: 10 * time.Second, IgnoreRobots: true})
	defer f.Close()
	pool := &http.Transport{DialContext: guard.DialContext}
	defer pool.CloseIdleConnections()
	literal := 0
	for _, url := range urls {
		if a, err := actions.New("visit", map[string]string{"url": url}); err == nil {
			_, err = f.Do(t.Context(), a)
			notDialled(t, url, err)
			if e, ok := errors.AsType[*web.AddressError](err); ok && e.Addr.IsValid() && e.Host == e.Addr.String() {
				literal++
			}
		}
		// As if canonical URLs did not exist.
		if req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil); err == nil {
			_, err = pool.RoundTrip(req)
			notDialled(t, url, err)
		}
	}
	t.Logf("%d URLs, of which %d are literal addresses once they are canonical", len(urls), literal)
	assert.Greater(t, literal, 500, "most forms are understood, and refused as what they are")
}

func notDialled(t *testing.T, url string, err error) {
	t.Helper()
	require.Error(t, err, "%q", url)
	e, tried := errors.AsType[*net.OpError](err)
	assert.False(t, tried && e.Op == "dial", "%q: %v", url, err)
}
