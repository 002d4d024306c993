package hogapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/download"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/internal/queries"
	"github.com/hogapi/hogapi/internal/watch"
	"github.com/hogapi/hogapi/ops"
)

// door is a client for a package that needs more than its exported methods: see internal/bridge.
type door struct {
	*core

	c *Client
}

func (d door) Asker(name string) *queries.Asker { return d.c.asker(name) }

func (d door) ImportConfig(op Op, options any) (engine.Config, error) {
	return options.(CaptureOptions).resolve(op, d.c)
}

// ImportTarget returns a digest of the project's key and of the host name that an import sends to. The port is
// not part of it: that of a proxy on this machine may change.
func (d door) ImportTarget() string {
	c := d.core
	if c.capture == nil || c.projectKey == nil {
		return "" // it is refused later
	}
	sum := sha256.Sum256([]byte("hogapi import\x00" + c.capture.Hostname() + "\x00" + c.projectKey()))
	return hex.EncodeToString(sum[:16])
}

func (d door) AgeLine(hasRecords bool) coverage.AgeLine { return d.c.ageLine(hasRecords) }

func (d door) History(ctx context.Context, export any) (h coverage.History, why string, err error) {
	return d.c.history(ctx, export.(*BatchExport), nil)
}

func (d door) TestDestination(ctx context.Context, export any, only func(step string) bool) (test any, err error) {
	return d.c.BatchExports.testOf(ctx, export.(*BatchExport), only, nil)
}

func (d door) Backfill(ctx context.Context, exportID uuid.UUID, bounds any, store func(ticket any) error) (ticket any, err error) {
	o := &BackfillOptions{AcceptRowsByTimestamp: true}
	save := func(t BackfillTicket) error { return store(&t) }
	return d.c.backfill(ctx, exportID, bounds.(BackfillRange), o, nil, save, ops.BatchExportsBackfill, ops.BackfillsCreate)
}

func (d door) EndOfRun(ctx context.Context, exportID, runID uuid.UUID) (run any, err error) {
	return d.c.Runs.ended(ctx, exportID, runID, nil)
}

func (d door) CheckDownload(request any) *InputError {
	return request.(FileDownloadRequest).check()
}

func (d door) WaitForDownload(ctx context.Context, id uuid.UUID, o any) (download.Listing, error) {
	s := d.c.FileDownloads
	get := func(ctx context.Context) (*FileDownload, error) { return s.Get(ctx, id) }
	state, err := watch.Ended(s.watch(ctx, id, o.(*WatchOptions), get), (*FileDownload).judge)
	return outgoing.OrDefault(state).listing(), err
}

func (d door) File(id, file uuid.UUID) download.Config {
	return d.c.FileDownloads.transfer(id, file, new(DownloadState), nil)
}

// The activity log is read up to 10 pages. A server may give fewer entries on a page than it is asked for.
const (
	maxActivityPages = 10
	maxActivityPage  = 1000
)

// withoutLog are the statuses of the service where a key, a plan or a server has no activity log.
var withoutLog = []int{http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed}

// history returns the earlier settings of an export, as far as the activity log has them, and why it was not read.
func (c *Client) history(ctx context.Context, e *BatchExport, options []CallOption) (h coverage.History, why string, err error) {
	list := endpoint(ops.ActivityLog).with(url.Values{
		"scope": {"BatchExport"}, "item_id": {e.ID.String()}, "page_size": {strconv.Itoa(maxActivityPage)},
	})
	var log []coverage.Entry
	for entry, err := range walkByCursor[coverage.Entry](c, list, CursorOptions{MaxPages: maxActivityPages}, options).All(ctx) {
		api, isAnswer := errors.AsType[*APIError](err)
		switch {
		case err == nil:
			log = append(log, entry)
		case errors.Is(err, pages.ErrPageLimit):
			why = fmt.Sprintf(" (only the newest %d entries of the activity log are read)", len(log))
		case isAnswer && slices.Contains(withoutLog, api.StatusCode):
			why = fmt.Sprintf(" (the activity log cannot be read: status %d; it needs the scope activity_log:read and, on PostHog Cloud, a plan with it)", api.StatusCode)
		default:
			return h, "", fromTheStart(err)
		}
	}
	now := coverage.Settings{
		Schedule: e.schedule(), Paused: e.Paused, Start: outgoing.OrDefault(e.StartAt).UTC(), Until: outgoing.OrDefault(e.EndAt).UTC(),
	}
	h = coverage.NewHistory(now, e.CreatedAt.UTC(), e.LastUpdatedAt.UTC(), log)
	h.Paused = outgoing.OrDefault(e.LastPausedAt).UTC()
	return h, why, nil
}

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
	r.body, r.minTry, r.noRetryIfSlow = body, queryTry, true
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
