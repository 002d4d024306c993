package hogapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

type answer struct {
	status int
	header http.Header
	body   []byte
}

// refusal is an answer that ends a request early: code below a handler panics with it.
type refusal answer

func refuse(a answer) { panic(refusal(a)) }

// answered runs a handler, and recovers its refusal.
func answered(serve func() answer) (a answer) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			a = answer(r)
		default:
			panic(r)
		}
		if a.header == nil {
			a.header = http.Header{}
		}
	}()
	return serve()
}

type object = map[string]any

func reply(status int, v any) answer {
	return answer{status, http.Header{"Content-Type": {"application/json"}}, toJSON(v)}
}

// text is a plain text answer, as capture gives for errors.
func text(status int, body string) answer {
	return answer{status, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, []byte(body)}
}

func toJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("hogapitest: a seeded value is not JSON: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// failure is an error answer of the management API. An empty attr is null.
func failure(status int, kind, code, detail, attr string) answer {
	body := object{"type": kind, "code": code, "detail": detail, "attr": nil}
	if attr != "" {
		body["attr"] = attr
	}
	return reply(status, body)
}

func invalid(attr, code, detail string) answer {
	return failure(http.StatusBadRequest, "validation_error", code, detail, attr)
}

var noContent = answer{status: http.StatusNoContent}

func success(v any) answer { return reply(http.StatusOK, v) }

func notFound(detail string) answer {
	return failure(http.StatusNotFound, "invalid_request", "not_found", detail, "")
}

func forbidden(detail string) answer {
	return failure(http.StatusForbidden, "authentication_error", "permission_denied", detail, "")
}

func serverError() answer { return usual(http.StatusInternalServerError, noProtocol) }

func throttled(retryAfter string) answer {
	detail := "Request was throttled."
	if n, err := strconv.Atoi(retryAfter); err == nil {
		detail += fmt.Sprintf(" Expected available in %d seconds.", n)
	}
	return failure(http.StatusTooManyRequests, "throttled_error", "throttled", detail, "")
}

var (
	usualTexts = map[int]string{
		http.StatusBadRequest:            unparsable,
		http.StatusUnauthorized:          "API key does not belong to any project. Check the project API key in your PostHog project settings",
		http.StatusRequestEntityTooLarge: "maximum event size exceeded",
		http.StatusTooManyRequests:       "rate limited",
		http.StatusServiceUnavailable:    "transient error, please retry",
	}
	usualFailures = map[int][3]string{ // type, code and detail
		http.StatusUnauthorized:    {"authentication_error", "authentication_failed", badKey},
		http.StatusPaymentRequired: {"server_error", "payment_required", "Payment required."},
		http.StatusForbidden:       {"authentication_error", "permission_denied", "You do not have permission to perform this action."},
		http.StatusNotFound:        {"invalid_request", "not_found", "Not found."},
		http.StatusConflict:        {"server_error", "conflict", "Conflict."},
		http.StatusTooManyRequests: {"throttled_error", "throttled", "Request was throttled."},
	}
)

// usual is the service's own answer with a status, for scripts without a body.
func usual(status int, p protocol) answer {
	switch {
	case p == protocolV1:
		return usualV1(status)
	case p == protocolBatch && status == http.StatusOK:
		return reply(status, object{"status": "Ok"})
	case p == protocolBatch:
		return text(status, or(usualTexts[status], http.StatusText(status)))
	case status < 400:
		return answer{status: status, header: http.Header{}}
	}
	f, known := usualFailures[status]
	switch {
	case !known && status >= 500:
		f = [3]string{"server_error", "error", "A server error occurred."}
	case !known:
		f = [3]string{"validation_error", "invalid_input", http.StatusText(status)}
	}
	return failure(status, f[0], f[1], f[2], "")
}

// htmlPage is an answer of a gateway in front of the service.
func htmlPage(status int) answer {
	page := fmt.Sprintf("<html>\r\n<head><title>%d %s</title></head>\r\n<body><center><h1>%[1]d %[2]s</h1></center></body>\r\n</html>\r\n", status, http.StatusText(status))
	return answer{status, http.Header{"Content-Type": {"text/html"}}, []byte(page)}
}
