package llm

import "net/http"

// Over returns an HTTPClient that sends through t.
func Over(t http.RoundTripper, cfg HTTPConfig) *HTTPClient {
	c := NewHTTPClient(cfg)
	c.http.Transport = t
	return c
}
