package hogapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hogapi/hogapi/internal/hogql"
	"github.com/hogapi/hogapi/ops"
)

// queries carries out the queries of this package. It implements [hogql.Service].
type queries struct{ client *Client }

// Counts counts events.
//
// POST /query/, scope query:read.
func (s queries) Counts(ctx context.Context, q hogql.Query, name string) ([]hogql.CountRow, error) {
	return ask[hogql.CountRow](ctx, s.client, q, name, hogql.MostCounts)
}

// UUIDs lists uuids.
//
// POST /query/, scope query:read.
func (s queries) UUIDs(ctx context.Context, q hogql.Query, name string) ([]hogql.UUIDRow, error) {
	return ask[hogql.UUIDRow](ctx, s.client, q, name, hogql.MostUUIDs+1)
}

// ask carries out one query now, and returns its rows, of which there must be fewer than most.
func ask[T any](ctx context.Context, c *Client, q hogql.Query, name string, most int) ([]T, error) {
	r := endpoint(ops.Query)
	r.body = struct {
		Query   Query  `json:"query"`
		Refresh string `json:"refresh"`
		Name    string `json:"name"`
	}{queryOf(q), "force_blocking", name}
	r.leastTry = queryTry
	r.tooMuchIsFinal = true
	answer, err := fetch[queryAnswer[T]](ctx, c, r, nil)
	if err != nil {
		return nil, err
	}
	return answer.Whole(most)
}

// queryTry is the least time limit of a try: the service waits up to 30 s for room, and runs 10 s.
const queryTry = time.Minute

type queryAnswer[T any] struct{ hogql.Answer[T] }

// decodeRows implements listed.
func (a *queryAnswer[T]) decodeRows(ctx context.Context, body []byte) error {
	return a.Decode(ctx, body)
}

// statusTooSlow is how the service refuses a query that it expects to take too long.
const statusTooSlow = 512

// Fault says what an error of a query means.
func (queries) Fault(err error) hogql.Fault {
	isInput := errors.As(err, new(*InputError))
	f := hogql.Fault{
		IsHopeless: isInput || errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrForbidden) || errors.Is(err, ErrNotFound) ||
			errors.Is(err, ErrUnsupported),
		IsRefused: errors.Is(err, ErrInvalid) && !isInput,
	}
	if api, ok := errors.AsType[*APIError](err); ok {
		f.IsTooMuch = api.StatusCode == http.StatusGatewayTimeout || api.StatusCode == statusTooSlow
		f.IsBusy = api.StatusCode == http.StatusTooManyRequests || api.StatusCode == http.StatusServiceUnavailable
		f.RetryAfter = api.RetryAfter
	}
	if transport, ok := errors.AsType[*TransportError](err); ok {
		f.IsUnreachable = !transport.Sent
	}
	return f
}
