package llmsim

import (
	"net/http"
	"strconv"
	"time"
)

// An Answer is what the model says, and how the server fails to deliver it.
type Answer struct {
	Text      string
	Reasoning string // comes before the text, as reasoning_content
	Refusal   string
	Calls     []Call
	Finish    string // "": what fits: tool_calls, length or stop

	Model       string // as served; "": as the Model says, or as asked for
	Fingerprint string // "": as the Model says
	ServiceTier string // "": as asked for, if at all
	NoUsage     bool   // the server does not count tokens
	NoDetails   bool   // and not how many came from its cache

	Latency *Latency // nil: the server's
	Fault   Fault
}

// A Call is a tool call in an answer.
type Call struct {
	ID   string // "": "call_" and a number
	Name string
	Args string // JSON, or whatever a broken model writes
}

func (a Answer) tokens() int {
	n := Tokens(a.Text) + Tokens(a.Reasoning) + Tokens(a.Refusal)
	for _, c := range a.Calls {
		n += Tokens(c.Name) + Tokens(c.Args)
	}
	return n
}

// A Fault is what goes wrong with an answer. The zero Fault is none. Those that
// concern streams leave other answers alone.
type Fault struct {
	// Status is that of an error; its body is OpenAI's unless Body is set.
	Status     int
	RetryAfter string // header: seconds or an HTTP date; see After and Until
	Body       string // of the response, whatever its status
	Type       string // Content-Type of Body; "": JSON

	NoChoices bool // the answer has an empty list of choices
	NoFinish  bool // a stream has neither a finish reason nor [DONE]
	Hang      bool // nothing is sent until the client leaves
	Drop      bool // the connection breaks instead, once the time until the first token is over
	Closed    bool // the next request on this connection finds it closed, unannounced (llama.cpp)

	NoIndex   bool // pieces of tool calls have no index (Gemini)
	OneIndex  bool // all tool calls have index 0
	Chunked   bool // all pieces of tool calls come in one chunk (vLLM)
	NoID      bool // tool calls have no ID
	Prefilled bool // tool calls begin with arguments {}
	Empty     int  // deltas with nothing in them, before the first

	Comments int           // lines of keep-alive before the first event
	CutAt    int           // the connection breaks after so many events of a stream, or halfway
	Error    string        // in the place of that break: an event, as it stands
	StallAt  int           // after so many events
	Stall    time.Duration // nothing is sent for so long
	LateEnd  time.Duration // between the end of the answer and that of the body
}

// After is a RetryAfter in seconds.
func After(d time.Duration) string { return strconv.Itoa(int(d.Round(time.Second) / time.Second)) }

// Until is a RetryAfter as an HTTP date, d from now.
func Until(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }

// The bodies of some servers' errors.
const (
	Flat       = `{"object":"error","message":"the model does not answer","type":"InternalServerError","param":null,"code":500}`
	HTML       = "<html><head><title>502 Bad Gateway</title></head>\n<body><center><h1>502 Bad Gateway</h1></center></body></html>\n"
	ErrorBody  = `{"error":{"message":"The server had an error while processing your request","type":"server_error","param":null,"code":null}}`
	ErrorEvent = `data: {"error":{"message":"The server had an error while processing your request","type":"server_error","param":null,"code":null}}`
)

// HTMLError is the answer of a proxy whose server is gone.
func HTMLError(status int) Answer {
	return Answer{Fault: Fault{Status: status, Body: HTML, Type: "text/html"}}
}

// FlatError is vLLM's kind of error.
func FlatError(status int) Answer { return Answer{Fault: Fault{Status: status, Body: Flat}} }

// Failed is an error of OpenAI's form.
func Failed(status int) Answer { return Answer{Fault: Fault{Status: status}} }

// Limited is a 429 that asks to come back later.
func Limited(retryAfter string) Answer {
	return Answer{Fault: Fault{Status: http.StatusTooManyRequests, RetryAfter: retryAfter}}
}
