// Package repo holds the rules of the repository, as tests: which package may
// import which, what the root module may require, that what is exported is
// documented, that tests don't sleep in real time, and that the README's
// program runs.
//
// The command in modproxy packs the repository's modules as a module proxy
// would serve them, for .ci/run to build a consumer from.
package repo
