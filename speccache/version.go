package speccache

import (
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"unique"
)

// A modelVersion is the identity of the target, interned: comparing two costs
// as much as comparing two pointers.
type modelVersion struct {
	name unique.Handle[string]
	salt uint64 // of the hashes of keys
}

// maxVersion is how many bytes of a version are kept: it may be what a server
// says, and each entry holds it.
const maxVersion = 256

func versionOf(name string) modelVersion {
	if len(name) > maxVersion {
		sum := sha256.Sum256([]byte(name))
		name = clip(name, maxVersion-2*len(sum)) + hex.EncodeToString(sum[:])
	}
	h := unique.Make(name)
	return modelVersion{h, maphash.Comparable(versionSeed, h)}
}

var (
	versionSeed  = maphash.MakeSeed()
	unsetVersion = versionOf("")
)

// versions is what a session accepts: its model version, and what it read
// itself before that was known, until it changes for the first time.
type versions struct {
	current modelVersion
	first   bool // the first statement of what was not known before
	stated  bool // since the session was opened
}

func newVersions(name string) *versions { return &versions{current: versionOf(name)} }

// next returns what a session accepts once its version is name.
func (v *versions) next(name string) *versions {
	n := newVersions(name)
	n.stated = true
	n.first = !v.stated && v.current == unsetVersion && n.current != unsetVersion
	return n
}

// accept reports whether the session may be served what its own session id, or
// another one, read for version m.
func (s *Session[O]) accept(m modelVersion, session uint64) bool {
	v := s.versions.Load()
	return m.name == v.current.name || v.first && m.name == unsetVersion.name && session == s.id
}

// A stamp is a scope's state at one moment: a version in the upper bits, and
// how many writes are going on in the lower ones. Observations with different
// stamps may differ.
type stamp uint64

const (
	writerBits = 20
	writerMask = 1<<writerBits - 1
)

// quiet reports whether no write was going on.
func (s stamp) quiet() bool { return s&writerMask == 0 }

// A scope is the state that reads of the sessions in it depend on. One that was
// forgotten comes back with another id: nothing old is found in it.
type scope struct {
	id    uint64
	name  string // empty if it is private to one session
	word  atomic.Uint64
	clock *clock // the cache's

	dead atomic.Bool // nothing can be found in it any more

	account account // guarded by limiter.mu
	rates   rates   // guarded by limiter.mu

	ledger ledger // of what ran ahead

	// seen are the model versions that something was read for, oldest first,
	// and the last few only: they tell a changed version from a first read.
	seen atomic.Pointer[[]modelVersion]

	// Guarded by scopes.mu.
	sessions int
	idle     *list.Element // in scopes.idle while sessions is 0
}

func (sc *scope) stamp() stamp { return stamp(sc.word.Load()) }

const maxSeen = 8

// saw remembers that something is read for a model version.
func (sc *scope) saw(m modelVersion) {
	for {
		old := sc.seen.Load()
		list := sc.versions()
		if slices.Contains(list, m) {
			return
		}
		next := append(slices.Clone(list[max(0, len(list)-maxSeen+1):]), m)
		if sc.seen.CompareAndSwap(old, &next) {
			return
		}
	}
}

func (sc *scope) versions() []modelVersion {
	if list := sc.seen.Load(); list != nil {
		return *list
	}
	return nil
}

// advance hides everything observed so far.
func (sc *scope) advance() { sc.word.Add(1 << writerBits) }

// beginWrite and endWrite each give the scope a new version.
func (sc *scope) beginWrite() { sc.word.Add(1<<writerBits + 1) }
func (sc *scope) endWrite()   { sc.word.Add(1<<writerBits - 1) }

// maxIdleScopes is how many named scopes without a session are remembered.
// What was read in a forgotten one is never found again.
const maxIdleScopes = 1024

// scopes finds scopes by name.
type scopes struct {
	lastID atomic.Uint64
	public *scope // shared by all; see actions.Rule.Public
	clock  *clock // of entries' ages
	count  func(session uint64, g *guess)
	forget func(scope uint64) // what was read in it

	// mu guards what follows and the registry's fields of each scope. It is
	// held for map and list operations only.
	mu    sync.Mutex
	named map[string]*scope
	idle  list.List // of *scope, longest idle first
}

func newScopes(c *clock, count func(uint64, *guess), forget func(uint64)) *scopes {
	s := &scopes{named: map[string]*scope{}, clock: c, count: count, forget: forget}
	s.public = s.make("")
	return s
}

func (s *scopes) make(name string) *scope {
	return &scope{id: s.lastID.Add(1), name: name, clock: s.clock, ledger: ledger{count: s.count}}
}

// enter returns the scope for a new session. An empty name is a scope that
// nobody else gets.
func (s *scopes) enter(name string) *scope {
	if name == "" {
		return s.make("")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sc := s.named[name]
	if sc == nil {
		sc = s.make(name)
		s.named[name] = sc
	}
	if sc.idle != nil {
		s.idle.Remove(sc.idle)
		sc.idle = nil
	}
	sc.sessions++
	return sc
}

// leave is called once for each enter.
func (s *scopes) leave(sc *scope) {
	if over := s.left(sc); over != nil {
		over.dead.Store(true)
		s.forget(over.id)
	}
}

// left returns the scope that is not remembered any more, if there is one.
func (s *scopes) left(sc *scope) (over *scope) {
	if sc.name == "" {
		return sc
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if sc.sessions--; sc.sessions > 0 {
		return nil
	}
	sc.idle = s.idle.PushBack(sc)
	if s.idle.Len() <= maxIdleScopes {
		return nil
	}
	over = s.idle.Remove(s.idle.Front()).(*scope)
	delete(s.named, over.name)
	return over
}

// find returns the scope of that name if there is one. The empty name finds
// the public scope.
func (s *scopes) find(name string) *scope {
	if name == "" {
		return s.public
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.named[name]
}
