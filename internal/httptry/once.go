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

// Once makes one try of a request.
func Once(ctx context.Context, client *http.Client, r Request) Try {
	r.Origin = OriginOf(r.URL)
	req, err := http.NewRequestWithContext(r.In(ctx), r.Method, r.URL.String(), r.Open())
	if err != nil {
		return r.take(err, r.Keys)
	}
	req.Header, req.ContentLength = r.Header, r.Size
	req.GetBody = func() (io.ReadCloser, error) { return r.Open(), nil }
	resp, err := client.Do(req)
	if err = NoURL(err); errors.Is(err, io.EOF) {
		err = fmt.Errorf("the connection was closed without an answer: %w", err)
	}
	if err == nil {
		_ = resp.Body.Close() // empty: the body is in the try
	}
	t := r.take(err, r.Keys)
	t.Body = mask.Bytes(t.Body, r.Keys)
	return t
}
