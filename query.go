package hogapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hogapi/hogapi/internal/queries"
	"github.com/hogapi/hogapi/ops"
)

// ErrMaxBytesRead is the error of a history.Verify whose next query would read more than its VerifyOptions.MaxBytesRead, and of a
// comparison of package reconcile whose next query would read more than its Options.MaxBytesRead.
var ErrMaxBytesRead = queries.ErrMaxRead

const queryPath = "/query/"

// queryTry is the least time limit of a try: the service waits up to 30 s for room, and runs 10 s.
const queryTry = time.Minute

// asker asks the queries of one task.
func (c *Client) asker(name string) *queries.Asker {
	return &queries.Asker{Send: c.sendQuery, Server: c.core.queries.Of(c.project), Name: name, Key: c.core.keyID, Now: c.core.now}
}

// sendQuery carries out one query.
//
// POST /query/, scope query:read.
func (c *Client) sendQuery(ctx context.Context, body any, answer queries.Decoder) queries.Reply {
	var reply Reply
	r := endpoint(ops.Query)
	r.body, r.minTry, r.tooMuchIsFinal = body, queryTry, true
	err := c.call(ctx, r, answer, WithReply(&reply))
	q := queries.Reply{Err: err, Header: reply.Header}
	if api, ok := errors.AsType[*APIError](err); ok {
		q.Status, q.Code, q.Detail, q.RetryAfter = api.StatusCode, api.Code, api.Detail, api.RetryAfter
	}
	if transport, ok := errors.AsType[*TransportError](err); ok {
		q.IsUnsent = !transport.Sent
	}
	isInput := errors.As(err, new(*InputError))
	q.IsUnreadable = errors.As(err, new(*DecodeError))
	q.IsRefused = errors.Is(err, ErrInvalid) && !isInput
	q.IsHopeless = isInput || errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrForbidden) || errors.Is(err, ErrNotFound) ||
		errors.Is(err, ErrUnsupported) && q.Status != http.StatusBadRequest
	return q
}
