package draft

import (
	"context"
	"iter"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// Chat returns a predictor that asks a small model, behind any
// OpenAI-compatible endpoint, what the target does next:
//
//	client := openai.NewClient(os.Getenv("OPENAI_API_KEY"))
//	predictor := draft.Chat(client, env.View, draft.ChatConfig{})
//
// One call returns up to N actions. Each is yielded as soon as it is complete,
// while the model still writes the next one.
//
// The model sees the goal, the steps so far and the page in view, cropped to a
// budget: the links and passages that are nearest to the goal, and no scope.
// Of steps it sees the action and the title of what was seen; the arguments only
// of actions that are named in ChatConfig.Tools or as a choice in view is. Of
// addresses it sees no queries and no logins. What the page says is quoted as
// data. Whatever it makes the model say, a guess is an action that the page in
// view offers, or a call of a tool whose arguments a model may compose.
// Everything else is dropped, see [DropReason]; nothing is repaired.
//
// Each guess tells what the call has cost since the one before, as far as that
// is certain by then, and a prediction without an action, the last one, the
// rest: together, what the server says or what is estimated. A call that fails
// yields one error, after the guesses that were complete by then, and so does
// one that brought nothing usable; [Error] is in its chain. Nothing is retried.
// Where a server asks to wait (Retry-After), nothing is sent for so long, 5
// minutes at most, and each call yields an error that says so. Nothing is sent
// either, nor said, where there is nothing to choose from.
//
// Confidences are those of ranks: 0.5, 0.2, 0.1, and half of the one before
// from there on.
//
// Chat panics without a client or view, and on a tool whose schema is no JSON
// object.
func Chat[O any](client Completer, view func(O) actions.View, cfg ChatConfig) actions.Predictor[O] {
	mustView("Chat", view)
	c := newChat(client, cfg)
	return func(ctx context.Context, s actions.State[O]) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) {
			if ctx.Err() == nil {
				c.predict(ctx, look(view, s, c.catalog.named), yield)
			}
		}
	}
}

// A chat is what calls of one predictor share.
type chat struct {
	cfg     ChatConfig
	client  Completer
	catalog *catalog
	forms   forms
	hold    hold
}

func newChat(client Completer, cfg ChatConfig) *chat {
	if client == nil {
		panic("draft: Chat needs a client")
	}
	cfg = cfg.withDefaults()
	return &chat{cfg: cfg, client: client, catalog: newCatalog(cfg)}
}

// predict asks once, and once more if the server turns out to have no
// structured output.
func (c *chat) predict(ctx context.Context, sc scene, yield func(actions.Prediction, error) bool) {
	p := c.prompt(sc)
	if !p.menu.offers() {
		return
	}
	if err := c.hold.check(); err != nil {
		yield(actions.Prediction{Source: "chat"}, err)
		return
	}
	limited, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	p.menu.over = limited.Done()
	k := &call{chat: c, prompt: p, yield: yield, began: time.Now(), seen: map[actions.Action]bool{}, dropped: map[DropReason]int{}}
	defer k.report(sc)
	form, doubtful := c.forms.next(c.cfg.Form)
	err := k.ask(limited, form)
	if doubtful && k.answer.served == "" && isRefusal(err) {
		err = k.ask(limited, FormLines)
		c.forms.refused(err)
	}
	c.hold.note(err)
	k.conclude(ctx, err)
}
