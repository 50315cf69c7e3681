package suites

import (
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
)

// Without takes something away from every environment until the test ends.
func Without(t *testing.T, what func(*actions.Environment[*web.Page])) {
	before := environment
	t.Cleanup(func() { environment = before })
	environment = func(f *web.Fetcher) actions.Environment[*web.Page] {
		env := (*web.Fetcher).Environment(f)
		what(&env)
		return env
	}
}
