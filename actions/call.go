package actions

import "context"

// A Call is what an executor may know about the run it was called for.
type Call struct {
	Scope   string // as given to Open
	Session uint64 // the session's number, unique in its cache
	Ahead   bool   // nobody has asked for this run yet
	Public  bool   // it is a read for all scopes: it must not use what one of them may
}

// callContext is a context with a Call: one allocation, where WithValue has two.
type callContext struct {
	context.Context
	call    Call
	changed func(Call) // or nil
}

type callKey struct{}

func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// WithCall returns a context that carries c. Sessions do this for every run;
// tests of executors may.
func WithCall(ctx context.Context, c Call) context.Context {
	return &callContext{Context: ctx, call: c}
}

// WithRun is WithCall with what [Changed] is to call, for what runs executors.
func WithRun(ctx context.Context, c Call, changed func(Call)) context.Context {
	return &callContext{ctx, c, changed}
}

// CallFrom returns the Call of a run, or the zero Call outside of one.
func CallFrom(ctx context.Context) Call {
	if c := callOf(ctx); c != nil {
		return c.call
	}
	return Call{}
}

func callOf(ctx context.Context) *callContext {
	c, _ := ctx.Value(callKey{}).(*callContext)
	return c
}

// Changed says that the run that ctx belongs to has changed what reads of its
// scope depend on, though its rule does not say so: a page that was read has
// logged the user in. It hides what was read before, runs in flight included, as
// a write does, and for all scopes if the run is Public. What the run itself
// brings is not kept. Call it after the change and before the run returns.
//
// Where sessions run sessions, all of them hide what they have. Outside of a run
// nothing happens.
func Changed(ctx context.Context) {
	for c := callOf(ctx); c != nil; c = callOf(c.Context) {
		if c.changed != nil {
			c.changed(c.call)
		}
	}
}

// ReceivedKey is the key of what Received calls, a func(int), among the values of
// a context.
type ReceivedKey struct{}

// Received says that the run that ctx belongs to has read so many bytes, as they
// arrive, decompressed. For a run ahead they count at once, whatever becomes of
// it, and it is cancelled when that exceeds a budget; a run that says nothing
// counts with its observation's size when it has ended. It does nothing for
// the target's own runs.
func Received(ctx context.Context, bytes int) {
	if received, ok := ctx.Value(ReceivedKey{}).(func(int)); ok {
		received(bytes)
	}
}

// AskedKey is the key of what Asked returns, a <-chan struct{}, among the values
// of a context.
type AskedKey struct{}

// Asked returns a channel that is closed once a target waits for the run ahead
// that ctx belongs to: from then on it runs for somebody, who wants it soon. It
// is nil for a run that did not begin ahead, and outside of one.
func Asked(ctx context.Context) <-chan struct{} {
	asked, _ := ctx.Value(AskedKey{}).(<-chan struct{})
	return asked
}
