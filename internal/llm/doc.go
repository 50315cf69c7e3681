// Package llm is what draft.Chat and target.Chat share: one request to an
// OpenAI-compatible endpoint, as a sequence of deltas that ends complete or in a
// typed error.
//
//	client := llm.NewClient(llm.Config{Key: key, BaseURL: url})
//	req, err := llm.Adapt(req)
//	for delta, err := range llm.Stream(ctx, client, req) {
//
// Between the caller and go-openai stand four things:
//
//	Adapt       what the model's family allows to be asked
//	Stream      deltas, from a stream or from a single response
//	HTTPClient  connections, Retry-After, errors, extra fields
//	Error       what went wrong, by class, and what to do about it
//
// Nothing is retried, but for a request that met a closed connection, which
// nobody can have read. Nothing runs in a goroutine of its own. A stream that was
// cut is never a complete result, and two tool calls are never merged into one.
package llm
