// Package suites plays public test suites against SpecCache's own code: addresses
// that must not be connected to, JSON that must not become an action, URLs, rules
// of hosts, what may be kept of them, and pages and tools that lie.
//
// [Run] does all of it. A suite is a row of adapters, which says how the rows of
// its files are asked; to add one, add a row.
package suites
