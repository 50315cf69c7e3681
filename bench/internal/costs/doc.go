// Package costs measures what SpecCache itself costs: a lookup, beside bare
// caches; a step, beside a bare skeleton of goroutines; and an open session.
//
// Only ratios within one run mean something on a machine that others use too.
// So all that is compared is measured in the same rounds, in an order that
// rotates from round to round, and figures are medians over the rounds.
//
// It uses nothing of SpecCache but what every user can.
package costs
