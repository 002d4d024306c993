package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi"
)

// initRequest is the configuration of an SDK. Fields that a test does not set are null or absent; the package's defaults apply.
type initRequest struct {
	APIKey              string `json:"api_key"`
	Host                string `json:"host"`
	FlushAt             int    `json:"flush_at"`
	FlushIntervalMS     int    `json:"flush_interval_ms"`
	MaxRetries          *int   `json:"max_retries"`
	EnableCompression   *bool  `json:"enable_compression"`
	DisableGeoIP        *bool  `json:"disable_geoip"`
	HistoricalMigration *bool  `json:"historical_migration"`
}

// check refuses settings that would put live events into a real project, and settings that an import does not have.
func (r initRequest) check() error {
	u, err := url.Parse(r.Host)
	if err != nil || u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback() {
		return errors.New("host: want a server on this machine: the adapter sends live events as historical ones")
	}
	if isFalse(r.HistoricalMigration) {
		return errors.New("historical_migration: an import always says true")
	}
	if isFalse(r.DisableGeoIP) {
		return errors.New("disable_geoip: an import always says true, unless the event's properties say otherwise")
	}
	return nil
}

func isFalse(b *bool) bool { return b != nil && !*b }

func (r initRequest) delivery(a *adapter) hogapi.DeliveryOptions {
	d := hogapi.DeliveryOptions{
		Protocol: a.protocol,
		Tuning:   hogapi.Tuning{MaxBatchEvents: r.FlushAt, Linger: time.Duration(r.FlushIntervalMS) * time.Millisecond, NoPreflight: true},
	}
	switch {
	case isFalse(r.EnableCompression):
		d.Compression = hogapi.CompressionNone
	case a.protocol == hogapi.ProtocolV1 && r.EnableCompression != nil:
		d.Compression = a.compression
	}
	if r.MaxRetries != nil {
		d.MaxTries = max(*r.MaxRetries, 0) + 1
	}
	return d
}

// session is one Capture and the record of its requests.
type session struct {
	sink *hogapi.Capture
	last atomic.Int64 // position of the newest event

	mu       sync.Mutex
	requests []requestMade
	lastErr  string
}

func newSession(r initRequest, a *adapter) (*session, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	s := &session{}
	options := []hogapi.Option{
		hogapi.WithCaptureURL(r.Host), hogapi.WithProjectAPIKey(r.APIKey),
		hogapi.WithHooks(hogapi.Hooks{OnBatch: s.answered}),
	}
	if a.transport != nil {
		options = append(options, hogapi.WithHTTPClient(&http.Client{Transport: a.transport}))
	}
	client, err := hogapi.NewClient(options...)
	if err != nil {
		return nil, err
	}
	s.sink, err = client.NewCapture(&hogapi.CaptureOptions{
		ID:       "conformance-" + rand.Text(), // the uuids are derived from it and the positions
		Rejects:  hogapi.RejectFunc(s.rejected),
		Gate:     hogapi.GateOptions{MinAge: -1}, // the harness sends live events
		Delivery: r.delivery(a),
	})
	return s, err
}

func (s *session) enqueue(ctx context.Context, r captureRequest) error {
	event := hogapi.Event{
		Name: r.Event, DistinctID: r.DistinctID, Timestamp: time.Now(),
		Position: hogapi.Position{Key: "conformance", Offset: s.last.Add(1)},
	}
	if r.Timestamp != nil {
		event.Timestamp = *r.Timestamp
	}
	if string(r.Properties) != "null" {
		event.RawProperties = r.Properties
	}
	if len(r.Options) > 0 {
		event.RawProperties, event.Properties = nil, map[string]any{}
		if err := json.Unmarshal(r.Properties, &event.Properties); err != nil {
			return err
		}
		if event.Properties == nil {
			event.Properties = map[string]any{}
		}
		for name, value := range r.Options { // a user gives them as properties
			if name == "disable_skew_correction" {
				name = "ignore_sent_at"
			}
			event.Properties["$"+name] = value
		}
	}
	return s.sink.Enqueue(ctx, event)
}

const maxFlush = 60 * time.Second // without a limit of tries a failure may last

// flush reports how many events were acknowledged meanwhile.
func (s *session) flush(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, maxFlush)
	defer cancel()
	before := s.sink.Stats().Acknowledged
	err := s.sink.Flush(ctx)
	if err != nil {
		s.failed(err)
	}
	return s.sink.Stats().Acknowledged - before, err
}

// end cuts requests in flight. No request follows.
func (s *session) end() {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_, _ = s.sink.Close(over) // unsettled events do not matter any more
}

// rejected ignores an event that the service refuses, so that the session continues.
func (s *session) rejected(_ context.Context, r hogapi.Reject) error {
	s.failed(r.Err)
	return nil
}

func (s *session) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastErr = err.Error()
}

// requestMade is one try, in the form that the harness expects.
type requestMade struct {
	TimestampMS  int64 `json:"timestamp_ms"`
	StatusCode   int   `json:"status_code"`
	RetryAttempt int   `json:"retry_attempt"`
	EventCount   int   `json:"event_count"`
}

func (s *session) answered(e hogapi.BatchInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, requestMade{
		TimestampMS: time.Now().Add(-e.Duration).UnixMilli(), StatusCode: e.StatusCode, RetryAttempt: e.Try - 1, EventCount: e.Events,
	})
}

// state is the answer of GET /state.
type state struct {
	PendingEvents       int64         `json:"pending_events"`
	TotalEventsCaptured int64         `json:"total_events_captured"`
	TotalEventsSent     int64         `json:"total_events_sent"`
	TotalRetries        int           `json:"total_retries"`
	LastError           *string       `json:"last_error"`
	RequestsMade        []requestMade `json:"requests_made"`
}

func (s *session) state() state {
	stats := s.sink.Stats()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := state{
		PendingEvents: stats.Pending, TotalEventsCaptured: stats.Read, TotalEventsSent: stats.Acknowledged,
		RequestsMade: append([]requestMade{}, s.requests...),
	}
	for _, r := range s.requests {
		if r.RetryAttempt > 0 {
			out.TotalRetries++
		}
	}
	if s.lastErr != "" {
		out.LastError = new(s.lastErr)
	}
	return out
}
