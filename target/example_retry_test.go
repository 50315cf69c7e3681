package target_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/speccache/speccache-go/target"
)

// A retrying client asks again when the rate limit is reached, after the time
// that the server asks for.
type retrying struct {
	*openai.Client
	tries int
}

func (r retrying) CreateChatCompletionStream(ctx context.Context, req openai.ChatCompletionRequest) (*openai.ChatCompletionStream, error) {
	for try := 1; ; try++ {
		stream, err := r.Client.CreateChatCompletionStream(ctx, req)
		e, ok := errors.AsType[*target.Error](err)
		if !ok || e.Class != target.ClassRateLimit || try == r.tries {
			return stream, err
		}
		fmt.Println(e)
		select {
		case <-time.After(cmp.Or(e.RetryAfter, time.Second)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Nothing is retried, but by a client that does so.
func ExampleCompleter_retries() {
	busy := llmsim.New(llmsim.Options{})
	busy.Push(llmsim.Limited("0.01"), llmsim.Answer{Text: "Here I am."})
	server, err := busy.Listen()
	if err != nil {
		panic(err)
	}
	defer server.Close()

	chat := target.NewChat(retrying{target.NewClient("", server.URL), 3}, target.ChatConfig{})
	for delta, err := range chat.Stream(context.Background(), []target.Message{{Text: "Is anybody there?"}}) {
		switch {
		case err != nil:
			fmt.Println(err)
		case delta.Reply != nil:
			fmt.Println(delta.Reply.Text)
		}
	}
	// Output:
	// llm: the rate limit is reached (429): wait, or send less at once; the server asks to wait 1 s; the server says: Too Many Requests
	// Here I am.
}
