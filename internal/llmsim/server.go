package llmsim

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options configure a Server. The zero Options are a server that knows every
// model, says "ok" at once and never fails.
type Options struct {
	// Models that there are, by the name they are asked for. Nil: all.
	Models map[string]Model

	// Key that requests must have. "": any or none.
	Key string

	// Answer is the policy: what the model says to requests that no script
	// answers. It is called concurrently. Nil: "ok".
	Answer func(Request) Answer

	Latency  Latency
	Capacity Capacity

	// PromptCache is the number of tokens in a block of a prompt that is
	// cached by prefix, for the last 64 prompts of a model. 0: nothing is cached.
	PromptCache int

	// Strict refuses messages that have neither content nor tool calls, as
	// llama.cpp and DeepSeek do.
	Strict bool

	Seed uint64
}

// A Model is what a server says about a name.
type Model struct {
	Served      string // the name in answers; "": as asked for
	Fingerprint string
	NoTools     bool // refuses requests with tools
	NoSchema    bool // refuses response_format json_schema
}

// Latency is how long an answer takes: Base, what the prompt takes, and what
// each token takes. A stream begins after the first two and is paced by the
// third; other answers come after the whole.
type Latency struct {
	Base      time.Duration
	PerPrompt time.Duration // for each token of the prompt that is not cached
	PerOutput time.Duration
	Jitter    float64 // 0.2: up to a fifth more or less, for a whole answer
}

// Stats are what a Server counted.
type Stats struct {
	Requests      int // for chats, whatever became of them
	Answered      int // to the end
	Refused       int // for lack of room in the queue
	Abandoned     int // the client left
	InFlight      int // served or queued right now
	MaxInFlight   int
	MaxRunning    int // of these, in a slot
	ColdStarts    int
	PromptTokens  int
	CachedTokens  int
	OutputTokens  int
	Connections   int // opened, on endpoints of its own
	ModelRequests map[string]int
}

// A Server is an OpenAI-compatible server.
type Server struct {
	opts  Options
	mux   *http.ServeMux
	slots slots

	// mu guards what follows. Policies are not called under it.
	mu      sync.Mutex
	script  []Answer
	stats   Stats
	prompts map[string][]string // by model, newest last
	seen    []Request
}

// New returns a Server.
func New(opts Options) *Server {
	s := &Server{opts: opts, mux: http.NewServeMux(), prompts: map[string][]string{}}
	s.slots.capacity = opts.Capacity
	s.stats.ModelRequests = map[string]int{}
	s.mux.HandleFunc("POST /v1/chat/completions", s.chat)
	s.mux.HandleFunc("GET /v1/models", s.models)
	return s
}

// Push appends to the script: one answer for each of the next requests.
func (s *Server) Push(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, answers...)
}

// Stats returns what was counted.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.ModelRequests = map[string]int{}
	for name, n := range s.stats.ModelRequests {
		stats.ModelRequests[name] = n
	}
	return stats
}

const maxSeen = 1024 // requests that are kept

// Requests returns the last 1024 chat requests that came in, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// ServeHTTP serves POST /v1/chat/completions and GET /v1/models.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.opts.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.opts.Key {
		complain(w, http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided: "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// ConnState counts connections, as that of an http.Server.
func (s *Server) ConnState(_ net.Conn, state http.ConnState) {
	if state == http.StateNew {
		s.count(func(stats *Stats) { stats.Connections++ })
	}
}

func (s *Server) count(how func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how(&s.stats)
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		OwnedBy string `json:"owned_by"`
	}
	list := []model{}
	for name := range s.opts.Models {
		list = append(list, model{ID: name, Object: "model", OwnedBy: "llmsim"})
	}
	slices.SortFunc(list, func(a, b model) int { return strings.Compare(a.ID, b.ID) })
	reply(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	req := Request{Header: r.Header.Clone(), Body: body}
	if err != nil || json.Unmarshal(body, &req.ChatCompletionRequest) != nil {
		complain(w, http.StatusBadRequest, "", "We could not parse the JSON body of your request.")
		return
	}
	model, answer := s.arrive(&req)
	defer s.count(func(stats *Stats) { stats.InFlight-- })
	if status, code, why := s.refuse(req); status != 0 {
		complain(w, status, code, why)
		return
	}
	if answer == nil {
		said := s.policy(req)
		answer = &said
	}
	leave, err := s.slots.enter(r.Context())
	if err != nil {
		s.turnAway(w, err)
		return
	}
	defer leave()
	s.count(func(stats *Stats) { stats.MaxRunning, stats.ColdStarts = s.slots.seen() })
	s.deliver(w, r, s.session(req, model, *answer))
}

func (s *Server) policy(req Request) Answer {
	if s.opts.Answer == nil {
		return Answer{Text: "ok"}
	}
	return s.opts.Answer(req)
}

// arrive counts a request, numbers it and takes its answer from the script, if
// there is one.
func (s *Server) arrive(req *Request) (Model, *Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Requests++
	s.stats.ModelRequests[req.Model]++
	s.stats.InFlight++
	s.stats.MaxInFlight = max(s.stats.MaxInFlight, s.stats.InFlight)
	req.Number = s.stats.Requests
	s.seen = append(s.seen[max(0, len(s.seen)-maxSeen+1):], *req)
	model := s.opts.Models[req.Model]
	if len(s.script) == 0 {
		return model, nil
	}
	answer := s.script[0]
	s.script = s.script[1:]
	return model, &answer
}

// refuse returns the status, code and text of a request that can't be served.
func (s *Server) refuse(req Request) (status int, code, why string) {
	model, known := s.opts.Models[req.Model]
	switch {
	case s.opts.Models != nil && !known:
		return http.StatusNotFound, "model_not_found", "The model `" + req.Model + "` does not exist or you do not have access to it."
	case model.NoTools && len(req.Tools) > 0:
		return http.StatusBadRequest, "", req.Model + " does not support tools"
	case model.NoSchema && req.ResponseFormat != nil && req.ResponseFormat.JSONSchema != nil:
		return http.StatusBadRequest, "", "response_format json_schema is not supported by " + req.Model
	case s.opts.Strict && hasEmpty(req):
		return http.StatusBadRequest, "", "All messages must have 'content' or 'tool_calls'"
	}
	return 0, "", ""
}

func hasEmpty(req Request) bool {
	for _, m := range req.Messages {
		if m.Content == "" && len(m.MultiContent) == 0 && len(m.ToolCalls) == 0 {
			return true
		}
	}
	return false
}

// jitter returns the factor by which a request's time differs.
func (s *Server) jitter(number int, by float64) float64 {
	r := rand.New(rand.NewPCG(s.opts.Seed, uint64(number)))
	return max(0, 1+by*(2*r.Float64()-1))
}

// cached returns how many tokens of a prompt are cached, and remembers it.
func (s *Server) cached(model, prompt string) int {
	if s.opts.PromptCache <= 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	common := 0
	for _, earlier := range s.prompts[model] {
		common = max(common, commonPrefix(earlier, prompt))
	}
	known := append(s.prompts[model], prompt)
	s.prompts[model] = known[max(0, len(known)-64):]
	return Tokens(prompt[:common]) / s.opts.PromptCache * s.opts.PromptCache
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// complain sends an error of OpenAI's form.
func complain(w http.ResponseWriter, status int, code, message string) {
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	var named any
	if code != "" {
		named = code
	}
	reply(w, status, map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": named}})
}
