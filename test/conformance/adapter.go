package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/hogapi/hogapi"
)

const (
	sdkName        = "hogapi-go"
	adapterVersion = "1.0.0"
	maxBody        = 32 << 20 // of a call of the harness
)

// adapter answers the calls of the harness. It holds one session at a time.
type adapter struct {
	transport   http.RoundTripper  // to the service; nil: the package's own
	protocol    hogapi.Protocol    // of all sessions
	compression hogapi.Compression // of bodies, where a test asks for it

	mu      sync.Mutex
	session *session // nil before init and after reset
}

var errNoSession = errors.New("call /init first")

func (a *adapter) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", answer(a.health))
	mux.HandleFunc("POST /init", answer(a.init))
	mux.HandleFunc("POST /capture", answer(a.capture))
	mux.HandleFunc("POST /flush", answer(a.flush))
	mux.HandleFunc("GET /state", answer(a.state))
	mux.HandleFunc("POST /reset", answer(a.reset))
	return mux
}

// outcome is the answer to most calls.
type outcome struct {
	Success bool   `json:"success"`
	Error   string `json:"error,omitempty"`
}

// answer writes the result of a call as JSON. An error is a 400: the harness then fails the test.
func answer[T any](call func(*http.Request) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		w.Header().Set("Content-Type", "application/json")
		var body any
		body, err := call(r)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			body = outcome{Error: err.Error()}
		}
		_ = json.NewEncoder(w).Encode(body) // it fails only if the harness has gone away
	}
}

// healthAnswer names the SDK. Without capabilities the harness runs no test and says that all have passed.
type healthAnswer struct {
	SDKName          string   `json:"sdk_name"`
	SDKVersion       string   `json:"sdk_version"`
	AdapterVersion   string   `json:"adapter_version"`
	Capabilities     []string `json:"capabilities"`
	SupportsParallel bool     `json:"supports_parallel"`
}

func (a *adapter) health(*http.Request) (healthAnswer, error) {
	capture := "capture_v0"
	if a.protocol == hogapi.ProtocolV1 {
		capture = "capture_v1"
	}
	return healthAnswer{
		SDKName: sdkName, SDKVersion: sdkVersion(), AdapterVersion: adapterVersion,
		Capabilities: []string{capture, "encoding_" + string(a.compression)},
	}, nil
}

// sdkVersion is the version of the package that was linked.
func sdkVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/hogapi/hogapi" {
				return strings.TrimPrefix(m.Version, "v")
			}
		}
	}
	return "devel"
}

func (a *adapter) init(r *http.Request) (outcome, error) {
	var request initRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		return outcome{}, err
	}
	s, err := newSession(request, a)
	if err != nil {
		return outcome{}, err
	}
	a.replace(s)
	return outcome{Success: true}, nil
}

// captureRequest is one event. Properties and timestamp are always present, and null if the test does not set them.
type captureRequest struct {
	DistinctID string          `json:"distinct_id"`
	Event      string          `json:"event"`
	Properties json.RawMessage `json:"properties"`
	Timestamp  *time.Time      `json:"timestamp"`
	Options    map[string]any  `json:"options"` // of capture v1
}

func (a *adapter) capture(r *http.Request) (outcome, error) {
	var request captureRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		return outcome{}, err
	}
	s := a.current()
	if s == nil {
		return outcome{}, errNoSession
	}
	if err := s.enqueue(r.Context(), request); err != nil {
		return outcome{}, err
	}
	return outcome{Success: true}, nil
}

type flushAnswer struct {
	outcome

	EventsFlushed int64 `json:"events_flushed"`
}

// flush waits until everything is settled. It succeeds even if the service has refused the events: many tests want that.
func (a *adapter) flush(r *http.Request) (flushAnswer, error) {
	s := a.current()
	if s == nil {
		return flushAnswer{}, errNoSession
	}
	n, err := s.flush(r.Context())
	f := flushAnswer{outcome{Success: err == nil}, n}
	if err != nil {
		f.Error = err.Error()
	}
	return f, nil
}

func (a *adapter) state(*http.Request) (state, error) {
	if s := a.current(); s != nil {
		return s.state(), nil
	}
	return state{RequestsMade: []requestMade{}}, nil
}

func (a *adapter) reset(*http.Request) (outcome, error) {
	a.replace(nil)
	return outcome{Success: true}, nil
}

func (a *adapter) current() *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.session
}

// replace ends the old session, if there is one, before it returns.
func (a *adapter) replace(s *session) {
	a.mu.Lock()
	old := a.session
	a.session = s
	a.mu.Unlock()
	if old != nil {
		old.end()
	}
}
