package httptry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Limits of an answer.
const (
	MaxAnswer     = 32 << 20    // bytes of a decompressed answer
	MaxErrorBody  = 64 << 10    // bytes of an error answer
	ErrorBodyTime = time.Second // for reading an error answer
)

// readAnswer replaces the body by its bytes, bounded in size and time. If it cannot read the body of a
// success, it returns the status too, unless the body begins as an HTML page, which is not from the
// service.
func readAnswer(cancel context.CancelFunc, resp *http.Response, limit int64) (answered int, err error) {
	if resp.Body == nil { // as transports for tests leave it
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	if resp.StatusCode < http.StatusOK {
		return 0, errNotFinal
	}
	isNeeded := limit > 0 && IsSuccess(resp.StatusCode)
	if !isNeeded {
		limit = MaxErrorBody
		timer := time.AfterFunc(ErrorBodyTime, cancel)
		defer timer.Stop()
	}
	body, err := readBounded(resp.Body, limit, resp.ContentLength)
	body = bytes.TrimPrefix(body, []byte("\ufeff")) // some proxies write a byte order mark
	tooBig := int64(len(body)) > limit
	if tooBig {
		body = body[:limit]
	}
	resp.Body = &readBody{*bytes.NewReader(body), body}
	if !isNeeded {
		return 0, nil // the status is known, and the caller needs no more
	}
	if !IsPage(resp.Header.Get("Content-Type"), bytes.TrimSpace(body)) {
		answered = resp.StatusCode
	}
	switch {
	case err != nil:
		return answered, fmt.Errorf("the answer was cut off after %d bytes: %w", len(body), NoURL(err))
	case tooBig:
		return answered, fmt.Errorf("%w: over %d KiB", ErrTooBig, limit>>10)
	case endsAtClose(resp) && IsCut(body):
		return answered, fmt.Errorf("the answer was cut off after %d bytes: %w", len(body), io.ErrUnexpectedEOF)
	}
	return 0, nil
}

type readBody struct {
	bytes.Reader

	whole []byte
}

func (*readBody) Close() error { return nil }

// BodyOf returns the bytes of an answer that has been read.
func BodyOf(resp *http.Response) []byte { return resp.Body.(*readBody).whole }

// IsSuccess reports a 2xx.
func IsSuccess(status int) bool { return status >= 200 && status < 300 }

// readBounded reads up to limit+1 bytes into a buffer that doubles.
func readBounded(r io.Reader, limit, expected int64) ([]byte, error) {
	most := limit + 1
	size := most
	for size > 2*min(max(expected, 2<<10), 512<<10) {
		size = (size + 1) / 2
	}
	body := make([]byte, 0, size)
	for {
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil || int64(len(body)) == most:
			return body, err
		case len(body) == cap(body):
			body = append(make([]byte, 0, min(2*int64(cap(body)), most)), body...)
		}
	}
}

// endsAtClose reports whether the body ends only with the connection, so that a cut looks like the end.
func endsAtClose(resp *http.Response) bool {
	return resp.ContentLength < 0 && len(resp.TransferEncoding) == 0 && resp.ProtoMajor == 1 && !resp.Uncompressed
}

// IsCut reports a JSON text that ends too early.
func IsCut(body []byte) bool {
	body = bytes.TrimSpace(body)
	return len(body) > 0 && (body[0] == '{' || body[0] == '[') && !json.Valid(body)
}
