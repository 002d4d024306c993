package hogapitest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
)

// protocol is a way into capture.
type protocol uint8

const (
	noProtocol protocol = iota // not capture
	protocolBatch
	protocolV1
)

// String is "batch" or "v1".
func (p protocol) String() string { return [...]string{"", "batch", "v1"}[p] }

const maxBodyV1 = 10 << 20

// v1Request is a request to capture v1 as the service reads it, up to its refusal.
type v1Request struct {
	token           string
	historical      bool
	events          []v1Event
	id              uuid.UUID
	attempt         int
	stamp           string // PostHog-Request-Timestamp as sent
	at              time.Time
	created         string // created_at as sent
	lib, libVersion string // empty where the header does not give them
	encoding        string

	refusal *answer
}

// v1Event is one event and the service's result.
type v1Event struct {
	event
	fields   fields
	sentUUID string
	dropped  string   // why, where it is
	doubled  []string // properties that belong to the root or to the options
}

// readV1 reads a request in the service's order: header, encoding, size, body, ids, then each event.
func (s *Server) readV1(h http.Header, body []byte) *v1Request {
	r := &v1Request{}
	a := answered(func() answer {
		r.authorize(h)
		r.readHeader(h)
		r.readBody(unpackV1(h, body))
		r.checkIDs()
		return noContent
	})
	if a.status != noContent.status {
		r.refusal = &a
		return r
	}
	now := s.now()
	for i := range r.events {
		r.judge(&r.events[i], now)
	}
	return r
}

func (r *v1Request) authorize(h http.Header) {
	value, there := header(h, "Authorization")
	if !there {
		refuseV1(http.StatusUnauthorized, "missing_authorization", "Authorization header is missing")
	}
	scheme, token, _ := strings.Cut(value, " ")
	if !visible(value) || !strings.EqualFold(scheme, "Bearer") {
		badHeader("Authorization")
	}
	r.token = strings.TrimSpace(token)
	if malformed(r.token) != "" {
		refuseV1(http.StatusUnauthorized, "invalid_api_token", "the project key is not valid")
	}
}

// v1Headers must all be there.
var v1Headers = []string{
	"PostHog-Sdk-Info", "PostHog-Attempt", "PostHog-Request-Id", "PostHog-Request-Timestamp", "Content-Type", "User-Agent",
}

func (r *v1Request) readHeader(h http.Header) {
	value := map[string]string{}
	var missing []string
	for _, name := range v1Headers {
		text, there := header(h, name)
		if !there {
			missing = append(missing, name)
		}
		value[name] = text
	}
	if missing != nil {
		refuseV1(http.StatusBadRequest, "missing_required_headers", "missing required headers: "+strings.Join(missing, ", "))
	}
	good := map[string]bool{}
	r.lib, r.libVersion = sdkInfo(value["PostHog-Sdk-Info"])
	r.attempt, _ = strconv.Atoi(value["PostHog-Attempt"])
	good["PostHog-Attempt"] = r.attempt >= 1
	r.id, good["PostHog-Request-Id"] = parseUUID(value["PostHog-Request-Id"])
	r.stamp = value["PostHog-Request-Timestamp"]
	r.at, good["PostHog-Request-Timestamp"] = readRFC3339(r.stamp)
	for _, name := range v1Headers {
		if ok, judged := good[name]; !visible(value[name]) || judged && !ok {
			badHeader(name)
		}
	}
	if kind, _, err := mime.ParseMediaType(value["Content-Type"]); err != nil || kind != "application/json" {
		refuseV1(http.StatusUnsupportedMediaType, "unsupported_content_type", "Content-Type must be application/json")
	}
	r.encoding, _ = header(h, "Content-Encoding")
}

// header is the first value of a header, which may be there and empty.
func header(h http.Header, name string) (value string, there bool) {
	values := h.Values(name)
	if len(values) == 0 {
		return "", false
	}
	return strings.TrimSpace(values[0]), true
}

func visible(value string) bool {
	return !strings.ContainsFunc(value, func(c rune) bool { return c != '\t' && (c < ' ' || c > '~') })
}

// sdkInfo splits name/version at the last slash. The service ignores an invalid value.
func sdkInfo(value string) (lib, version string) {
	at := strings.LastIndexByte(value, '/')
	if len(value) > 200 || at < 1 || at == len(value)-1 {
		return "", ""
	}
	return value[:at], value[at+1:]
}

// parseUUID takes the forms that the service takes: with and without hyphens, in braces, as an URN.
func parseUUID(text string) (uuid.UUID, bool) {
	if uuid.Validate(text) != nil {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// readRFC3339 is stricter than [time.Parse].
func readRFC3339(text string) (time.Time, bool) {
	text = strings.ToUpper(text)
	if !rfc3339.MatchString(text) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	return t.UTC(), err == nil
}

func refuseV1(status int, tag, description string) { refuse(failureV1(status, tag, description)) }

// failureV1 is an answer of capture v1 to a request that failed as a whole.
func failureV1(status int, tag, description string) answer {
	a := reply(status, object{
		"error": tag, "error_description": description, "error_uri": "https://posthog.com/docs/api/capture#" + tag,
	})
	switch status {
	case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		a.header.Set("Retry-After", "1")
	}
	return a
}

func badHeader(name string) {
	refuseV1(http.StatusBadRequest, "invalid_header_value", "invalid value of header "+name)
}

// usualV1 is the answer of capture v1 with a status, for scripts without a body.
func usualV1(status int) answer {
	tag, known := map[int]string{
		http.StatusBadRequest:            "request_parsing_error",
		http.StatusUnauthorized:          "invalid_api_token",
		http.StatusPaymentRequired:       "billing_limit_exceeded",
		http.StatusRequestTimeout:        "request_timeout",
		http.StatusRequestEntityTooLarge: "payload_too_large",
		http.StatusUnsupportedMediaType:  "unsupported_encoding",
		http.StatusInternalServerError:   "internal_error",
		http.StatusServiceUnavailable:    "service_unavailable",
		http.StatusGatewayTimeout:        "gateway_timeout",
	}[status]
	switch {
	case known:
		return failureV1(status, tag, http.StatusText(status))
	case status == http.StatusOK:
		return reply(status, object{"results": object{}})
	case status == http.StatusBadGateway:
		return htmlPage(status)
	}
	return text(status, http.StatusText(status)) // a gateway's: the service never answers so
}

// isProbe reports whether a small body holds an empty batch.
func isProbe(h http.Header, body []byte) (probe bool) {
	answered(func() answer {
		plain := bytes.TrimSpace(unpackV1(h, body))
		for _, m := range members(plain) {
			probe = probe || m.key == "batch" && m.value[0] == '[' && len(elements(m.value)) == 0
		}
		probe = probe && strictJSON(plain)
		return noContent
	})
	return probe
}

type decoder func(packed io.Reader) (io.Reader, error)

// decoders are the encodings of capture v1 that the package writes. The service takes deflate and br too.
var decoders = map[string]decoder{
	"gzip": func(packed io.Reader) (io.Reader, error) { return gzip.NewReader(packed) },
	"zstd": func(packed io.Reader) (io.Reader, error) {
		d, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	},
}

// unpackV1 decompresses as the header says, without looking at the bytes.
func unpackV1(h http.Header, body []byte) (plain []byte) {
	name, there := header(h, "Content-Encoding")
	name = strings.ToLower(name)
	decode := decoders[name]
	tooLarge := len(body) > maxBodyV1
	switch {
	case there && decode == nil:
		refuseV1(http.StatusUnsupportedMediaType, "unsupported_encoding", "Content-Encoding must be one of gzip, deflate, br, zstd; the fake has no decoder for deflate and br")
	case len(body) == 0:
		refuseV1(http.StatusBadRequest, "empty_body", "the request body is empty")
	case !there && !tooLarge:
		return body
	}
	var err error
	if !tooLarge {
		plain, err = decoded(decode, body, maxBodyV1*inflation)
	}
	if tooLarge || errors.Is(err, errTooLarge) {
		refuseV1(http.StatusRequestEntityTooLarge, "payload_too_large", "the request body is too large, as received or decompressed")
	}
	if err != nil {
		refuseV1(http.StatusBadRequest, "request_decoding_error", "the request body cannot be decompressed")
	}
	return plain
}

// decoded unpacks less than limit bytes: the service stops when the limit is reached.
func decoded(decode decoder, body []byte, limit int) ([]byte, error) {
	r, err := decode(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if c, ok := r.(io.Closer); ok {
		defer c.Close()
	}
	plain, err := io.ReadAll(io.LimitReader(r, int64(limit)))
	if len(plain) >= limit {
		return nil, errTooLarge
	}
	return plain, err
}
