package httptry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/hogapi/hogapi/internal/mask"
)

// Request is a request that is written once. The caller decides whether and when to send it again.
type Request struct {
	Plan

	Method string
	URL    *url.URL
	Header http.Header
	Open   func() io.ReadCloser // the body, from its beginning
	Size   int64                // of the body
	Keys   []string             // neither the answer nor an error may show them
}

// Answer is the outcome of a Request.
type Answer struct {
	Facts

	Status int // 0: no answer
	Header http.Header
	Body   []byte
	Err    error // why no answer came
}

// Once makes one try of a request.
func Once(ctx context.Context, client *http.Client, r Request) (a Answer) {
	r.Origin = OriginOf(r.URL)
	defer func() { a.Facts = r.TakeFacts() }()
	req, err := http.NewRequestWithContext(r.In(ctx), r.Method, r.URL.String(), r.Open())
	if err != nil {
		a.Err = NoURL(err)
		return a
	}
	req.Header, req.ContentLength = r.Header, r.Size
	req.GetBody = func() (io.ReadCloser, error) { return r.Open(), nil }
	resp, err := client.Do(req)
	if err = NoURL(err); errors.Is(err, io.EOF) {
		err = fmt.Errorf("the connection was closed without an answer: %w", err)
	}
	if err != nil {
		a.Err = mask.Error(err, r.Keys)
		return a
	}
	_ = resp.Body.Close() // in memory
	a.Status, a.Header, a.Body = resp.StatusCode, resp.Header, mask.Bytes(BodyOf(resp), r.Keys)
	return a
}
