package actions_test

import (
	"context"
	"testing"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheZeroRulePermitsNothing(t *testing.T) {
	var rule actions.Rule
	require.NoError(t, rule.Validate())
	assert.Equal(t, actions.Unknown, rule.Effect)
	assert.False(t, rule.Ahead)
	assert.Equal(t, rule, actions.Rules(nil)["anything"], "and is the rule of what has none")
}

func TestRulesThatContradictThemselvesAreRefused(t *testing.T) {
	for _, test := range []struct {
		rule actions.Rule
		err  string
	}{
		{actions.Rule{Effect: actions.ReadOnly}, ""},
		{actions.Rule{Effect: actions.ReadOnly, Ahead: true}, ""},
		{actions.Rule{Effect: actions.ReadOnly, MaxAge: time.Second, Public: true}, ""},
		{actions.Rule{Effect: actions.Write}, ""},
		{actions.Rule{Effect: actions.Write, Public: true}, ""},
		{actions.Rule{Effect: actions.Local}, ""},
		{actions.Rule{Effect: actions.Local + 1}, "Effect(4) is no effect"},
		{actions.Rule{Ahead: true}, "not unknown ones"},
		{actions.Rule{Effect: actions.Write, Ahead: true}, "not write ones"},
		{actions.Rule{Effect: actions.Local, Ahead: true}, "not local ones"},
		{actions.Rule{Effect: actions.ReadOnly, MaxAge: -1}, "negative"},
		{actions.Rule{Effect: actions.ReadOnly, Public: true}, "needs a MaxAge"},
	} {
		err := test.rule.Validate()
		if test.err == "" {
			assert.NoError(t, err, "%+v", test.rule)
		} else {
			assert.ErrorContains(t, err, test.err, "%+v", test.rule)
		}
	}
}

func TestRulesAreDeclaredByName(t *testing.T) {
	assert.Equal(t, actions.Rules{
		"get":  {Effect: actions.ReadOnly, Ahead: true},
		"list": {Effect: actions.ReadOnly, Ahead: true},
	}, actions.Reads("get", "list"))
	assert.Equal(t, actions.Rules{"put": {Effect: actions.Write}}, actions.Writes("put"))
	assert.Equal(t, actions.Rules{"think": {Effect: actions.Local}}, actions.Locals("think"))
	assert.Empty(t, actions.Reads())
}

func TestEffectsHaveNames(t *testing.T) {
	assert.Equal(t, "unknown", actions.Unknown.String())
	assert.Equal(t, "read-only", actions.ReadOnly.String())
	assert.Equal(t, "write", actions.Write.String())
	assert.Equal(t, "local", actions.Local.String())
	assert.Equal(t, "Effect(9)", actions.Effect(9).String())
}

func TestACallTravelsWithTheContext(t *testing.T) {
	ctx := context.Background()
	assert.Zero(t, actions.CallFrom(ctx))
	call := actions.Call{Scope: "s", Session: 7, Ahead: true}
	ctx = actions.WithCall(ctx, call)
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	assert.Equal(t, call, actions.CallFrom(child))
	assert.Equal(t, call, actions.CallFrom(context.WithoutCancel(ctx)))
	assert.Zero(t, actions.CallFrom(actions.WithCall(ctx, actions.Call{})), "the innermost counts")
}

func TestLastIsTheNewestObservation(t *testing.T) {
	var s actions.State[string]
	_, ok := s.Last()
	assert.False(t, ok)
	s.Steps = []actions.Step[string]{{Observation: "a"}, {Observation: "b"}}
	o, ok := s.Last()
	assert.True(t, ok)
	assert.Equal(t, "b", o)
}

func TestChangedTellsEveryRunAroundAndNothingOutsideOfOne(t *testing.T) {
	actions.Changed(t.Context())
	actions.Changed(actions.WithCall(t.Context(), actions.Call{Session: 1}))
	var told []uint64
	note := func(c actions.Call) { told = append(told, c.Session) }
	outer := actions.WithRun(t.Context(), actions.Call{Session: 1}, note)
	inner, cancel := context.WithCancel(actions.WithRun(outer, actions.Call{Session: 2}, note))
	cancel()
	assert.EqualValues(t, 2, actions.CallFrom(inner).Session)
	actions.Changed(inner)
	assert.Equal(t, []uint64{2, 1}, told)
}
