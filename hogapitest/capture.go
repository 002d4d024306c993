package hogapitest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"strings"
)

// The service's own limits.
const (
	maxBody       = 20 << 20 // as received; decompressed 5 times that
	maxEventBytes = 1_000_000
	inflation     = 5
	maxTokenBytes = 64

	maxIDCharacters = 200 // of a distinct id: the rest is cut off
)

// capture serves POST /batch/.
// It parses and judges without the server's lock, so batches that arrive together are worked on together.
func (s *Server) capture(v *visit, body []byte) answer {
	plain, zipped := s.unpack(v, body)
	b := readBatch(plain)
	if !b.hasToken {
		refuse(text(http.StatusUnauthorized, "event submitted without an api_key"))
	}
	if why := malformed(b.token); why != "" {
		refuse(text(http.StatusUnauthorized, "API key is not valid: "+why))
	}
	now := s.now()
	for i := range b.events {
		e := &b.events[i]
		e.check(b, now)
		e.content = maphash.Bytes(seed, canonical(e.properties))
	}
	if s.maxBatchEvents > 0 && len(b.events) > s.maxBatchEvents {
		return text(http.StatusRequestEntityTooLarge, "length limit exceeded")
	}
	for i := range b.events {
		s.culprit(&b.events[i], protocolBatch)
	}
	return s.store(v, b, zipped)
}

// unpack decompresses a body within the limits, as the header says.
func (s *Server) unpack(v *visit, body []byte) (plain []byte, zipped bool) {
	zipped = strings.EqualFold(v.call.Header.Get("Content-Encoding"), "gzip") || bytes.HasPrefix(body, []byte{0x1f, 0x8b})
	var err error
	if plain = body; zipped && len(body) <= maxBody {
		plain, err = decoded(decoders["gzip"], body, maxBody*inflation+1)
	}
	if len(body) > maxBody || errors.Is(err, errTooLarge) {
		refuse(text(http.StatusRequestEntityTooLarge, "length limit exceeded"))
	}
	if err != nil {
		badRequest("failed to decode request: invalid GZIP data")
	}
	return plain, zipped
}

var errTooLarge = errors.New("too large")

// malformed describes the error in the form of a key. A key that nobody has is answered 200, unless [WithKeyCheck] is
// set.
func malformed(token string) string {
	isHigh := func(c rune) bool { return c > 127 }
	switch {
	case token == "":
		return "empty"
	case len(token) > maxTokenBytes:
		return "too_long"
	case strings.ContainsFunc(token, isHigh):
		return "not_ascii"
	case strings.HasPrefix(token, "phx_"):
		return "personal_api_key"
	case strings.Contains(token, "\x00"):
		return "null_byte"
	}
	return ""
}

// culprit applies [Server.RejectEvents]. An event that is marked 413 counts as too big.
func (s *Server) culprit(e *event, p protocol) {
	s.mu.Lock()
	reject := s.reject
	s.mu.Unlock()
	status := 0
	if reject != nil {
		status = reject(e.raw)
	}
	if e.tooBig = status == http.StatusRequestEntityTooLarge || e.over(); status != 0 && !e.tooBig {
		refuse(usual(status, p))
	}
}

// store commits the events of a good batch and answers. One event over the limit makes the answer 413; the others are stored.
func (s *Server) store(v *visit, b *batch, zipped bool) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	project := s.projectOf(b.token)
	why := ""
	switch {
	case project == nil && s.keyCheck:
		return usual(http.StatusUnauthorized, protocolBatch)
	case project == nil:
		why = "unknown key"
	case s.quota == QuotaSilent || s.quota == QuotaListed:
		why = "over quota"
	}
	tooBig := false
	s.ledger.begin(v, CaptureRequest{Historical: b.historical, Gzip: zipped, Events: len(b.events)}, project)
	fitting := b.events[:0]
	for _, e := range b.events {
		if e.tooBig {
			tooBig = true
			continue
		}
		switch e.name {
		case "$performance_event", "$$heatmap", "$$client_ingestion_warning": // removed silently, or not stored as events
		default:
			fitting = append(fitting, e)
		}
	}
	for i := range fitting[:v.fault.stored(len(fitting))] {
		s.keep(v, &fitting[i], project, why)
	}
	if tooBig {
		return text(http.StatusRequestEntityTooLarge, fmt.Sprintf("maximum event size exceeded: %d", maxEventBytes))
	}
	return s.accepted()
}

// keep commits an event of a project, or notes why it was dropped.
func (s *Server) keep(v *visit, e *event, project *Project, dropped string) {
	s.ledger.commit(v.ledger, e, dropped)
	if dropped == "" {
		s.rules.stored(v, e.job)
		s.table.add(project.id, e, v.call.At, s.ledger.compact)
	}
}

// accepted is the answer to a batch that was taken, or dropped in silence.
func (s *Server) accepted() answer {
	body := object{"status": "Ok"}
	if s.era == E1 {
		body["status"] = 1
	}
	if s.quota == QuotaListed {
		body["quota_limited"] = []string{"events"}
	}
	return success(body)
}

func (s *Server) projectOf(key string) *Project {
	for _, p := range s.projects {
		if p.key == key {
			return p
		}
	}
	return nil
}

// flags serves POST /flags/, which tells an unknown key where capture does not.
func (s *Server) flags(r *request) answer {
	f := readFields(r.body).fields
	token, _ := asString(f["api_key"])
	s.mu.Lock()
	known := s.projectOf(token) != nil
	s.mu.Unlock()
	if !known {
		return failure(http.StatusUnauthorized, "authentication_error", "authentication_failed",
			"The provided API key is invalid or has expired. Please check your API key and try again.", "")
	}
	if id, _ := asString(f["distinct_id"]); id == "" {
		return invalid("distinct_id", "required", "The distinct_id field is required.")
	}
	return success(object{"flags": object{}, "errorsWhileComputingFlags": false, "quotaLimited": nil})
}
