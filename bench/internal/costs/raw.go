package costs

import (
	"context"
	"errors"

	"github.com/dgraph-io/ristretto/v2"
	"github.com/maypok86/otter/v2"
)

var errNotFilled = errors.New("the cache did not keep its keys")

// rawRistretto makes a reader of a bare ristretto that has plenty of room.
func rawRistretto(name string) func(context.Context, int) ([]reader, func(), error) {
	return func(_ context.Context, cpus int) ([]reader, func(), error) {
		c, err := ristretto.NewCache(&ristretto.Config[uint64, *page]{
			NumCounters: 100 * HotKeys, MaxCost: 10 * HotKeys, BufferItems: 64, IgnoreInternalCost: true,
		})
		if err != nil {
			return nil, func() {}, err
		}
		keys := hotKeys()
		for _, k := range keys {
			c.Set(k, &page{}, 1)
			c.Wait()
		}
		mine := orders(keys, cpus)
		read := reader{name: name, chunk: func(g, i int) (wrong int) {
			for _, k := range chunkOf(mine[g], i) {
				if _, ok := c.Get(k); !ok {
					wrong++
				}
			}
			return wrong
		}}
		if read.pass(0) > 0 {
			err = errNotFilled
		}
		return []reader{read}, c.Close, err
	}
}

// rawOtter makes a reader of a bare otter that has plenty of room.
func rawOtter(_ context.Context, cpus int) ([]reader, func(), error) {
	c, err := otter.New(&otter.Options[uint64, *page]{MaximumSize: 10 * HotKeys})
	if err != nil {
		return nil, func() {}, err
	}
	keys := hotKeys()
	for _, k := range keys {
		c.Set(k, &page{})
	}
	mine := orders(keys, cpus)
	read := reader{name: otterRaw, chunk: func(g, i int) (wrong int) {
		for _, k := range chunkOf(mine[g], i) {
			if _, ok := c.GetIfPresent(k); !ok {
				wrong++
			}
		}
		return wrong
	}}
	if read.pass(0) > 0 {
		err = errNotFilled
	}
	return []reader{read}, func() {}, err
}
