package hogapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// answer is the service's response.
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

// object is a JSON object that is about to be sent.
type object = map[string]any

// reply is a JSON answer.
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

func serverError() answer {
	return failure(http.StatusInternalServerError, "server_error", "error", "A server error occurred.", "")
}

func throttled(retryAfter string) answer {
	detail := "Request was throttled."
	if n, err := strconv.Atoi(retryAfter); err == nil {
		detail += fmt.Sprintf(" Expected available in %d seconds.", n)
	}
	a := failure(http.StatusTooManyRequests, "throttled_error", "throttled", detail, "")
	if retryAfter != "" {
		a.header.Set("Retry-After", retryAfter)
	}
	return a
}

// usual is the service's own answer with a status, for scripts without a body.
func usual(status int, p protocol) answer {
	if p == protocolV1 {
		return usualV1(status)
	}
	if p == protocolBatch {
		switch status {
		case http.StatusOK:
			return reply(status, object{"status": "Ok"})
		case http.StatusBadRequest:
			return text(status, "failed to parse request: missing field `event`")
		case http.StatusUnauthorized:
			return text(status, "API key is not valid: unknown")
		case http.StatusRequestEntityTooLarge:
			return text(status, "maximum event size exceeded")
		case http.StatusTooManyRequests:
			return text(status, "rate limited")
		case http.StatusServiceUnavailable:
			return text(status, "transient error, please retry")
		}
		return text(status, http.StatusText(status))
	}
	switch {
	case status == http.StatusUnauthorized:
		return failure(status, "authentication_error", "authentication_failed", badKey, "")
	case status == http.StatusPaymentRequired:
		return failure(status, "server_error", "payment_required", "Payment required.", "")
	case status == http.StatusForbidden:
		return forbidden("You do not have permission to perform this action.")
	case status == http.StatusNotFound:
		return notFound("Not found.")
	case status == http.StatusConflict:
		return failure(status, "server_error", "conflict", "Conflict.", "")
	case status == http.StatusTooManyRequests:
		return throttled("")
	case status >= 500:
		return failure(status, "server_error", "error", "A server error occurred.", "")
	case status >= 400:
		return failure(status, "validation_error", "invalid_input", http.StatusText(status), "")
	}
	return answer{status: status, header: http.Header{}}
}

// htmlPage is an answer of a gateway in front of the service.
func htmlPage(status int) answer {
	page := fmt.Sprintf("<html>\r\n<head><title>%d %s</title></head>\r\n<body><center><h1>%[1]d %[2]s</h1></center></body>\r\n</html>\r\n", status, http.StatusText(status))
	return answer{status, http.Header{"Content-Type": {"text/html"}}, []byte(page)}
}
