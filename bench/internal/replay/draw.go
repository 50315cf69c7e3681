package replay

import (
	"hash/fnv"
	"math"
	"math/bits"
)

// uniform draws a number between 0 and 1 for one of consecutive seeds. It is a
// function of seed and key, and stratified over seeds: of any 2^k aligned
// seeds, each has a stratum of its own of width 2^-k.
//
// The seed, as a number in a van der Corput sequence, is scrambled before and
// after its bits are reversed (Owen's nested scrambling), by coins that
// depend on the key: so two keys are paired anew, and their draws are
// independent of each other.
func uniform(seed uint64, key uint64) float64 {
	i := scramble(uint32(seed), mix(key, 1))
	u := scramble(bits.Reverse32(i), mix(key, 2))
	return (float64(u) + 0.5) / (1 << 32)
}

// scramble flips each bit by a coin that depends on the bits above it.
func scramble(x uint32, key uint64) uint32 {
	for b := 31; b >= 0; b-- {
		above := uint64(x >> (b + 1))
		x ^= uint32(mix(key, uint64(b)<<32|above)&1) << b
	}
	return x
}

// mix scrambles two numbers into one (the finaliser of SplitMix64).
func mix(a, b uint64) uint64 {
	x := a ^ (b+0x9e3779b97f4a7c15)*0xbf58476d1ce4e5b9
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// keyOf makes a key of words and a number.
func keyOf(kind, name string, n int) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(kind + "\x00" + name)) // a hash never fails
	return mix(h.Sum64(), uint64(n))
}

// A logNormal is a distribution of times, in model seconds. Median 0 means no
// time at all.
type logNormal struct{ median, sigma float64 }

// at returns the quantile of u.
func (d logNormal) at(u float64) float64 {
	return d.median * math.Exp(d.sigma*math.Sqrt2*math.Erfinv(2*u-1))
}
