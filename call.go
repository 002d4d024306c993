package hogapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/endpoints"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
	"github.com/hogapi/hogapi/opt"
)

// Op names an operation in errors, hooks and logs, for example "batch_exports.get". Package
// [github.com/hogapi/hogapi/ops] has a constant for each.
type Op = ops.Op

// Replay says whether a call may be sent again after a try with an unknown outcome.
type Replay uint8

const (
	// ReplayDefault stands for the operation's own class. For [Client.Do] that is ReplaySafe for GET and HEAD,
	// and ReplayNever for every other method.
	ReplayDefault Replay = iota
	// ReplaySafe is for calls that change nothing.
	ReplaySafe
	// ReplayIdempotent is for calls that leave the same state no matter how often they are carried
	// out.
	ReplayIdempotent
	// ReplayNever is for calls that act again each time. They are sent again only if the service provably did
	// not act on them: nothing was written to the network, or the answer was the service's own 429 "throttled".
	ReplayNever
)

// CallOption changes one call.
type CallOption func(*callConfig)

type callConfig struct {
	header http.Header
	query  url.Values
	body   any
	reply  *Reply
}

// emptyReply empties the caller's Reply, which may hold the answer of an earlier call.
func (c *callConfig) emptyReply() {
	if c.reply != nil {
		*c.reply = Reply{}
	}
}

// headersOf returns the headers among the options of a call, for a read before or after it. A nil option stays, to be refused.
func headersOf(options []CallOption) []CallOption {
	cfg, err := configOf("", options)
	if err != nil {
		return []CallOption{nil}
	}
	return []CallOption{func(c *callConfig) { c.header = cfg.header.Clone() }}
}

// WithHeader adds a header to one call. It cannot replace a header that the call itself sets, such as
// Authorization.
func WithHeader(name, value string) CallOption {
	return func(c *callConfig) {
		if c.header == nil {
			c.header = http.Header{}
		}
		c.header.Add(name, value)
	}
}

// WithQuery sets query parameters of one call. They replace the parameters of the same names that the method
// sets. A walk sends them with every page.
func WithQuery(q url.Values) CallOption {
	return func(c *callConfig) {
		if c.query == nil {
			c.query = url.Values{}
		}
		maps.Copy(c.query, q)
	}
}

// WithBody sets the JSON body of one call, in place of the method's own.
func WithBody(body any) CallOption { return func(c *callConfig) { c.body = body } }

// Reply is the raw answer of a call: on success as it came, on failure cut at 64 KiB, with keys redacted.
type Reply struct {
	StatusCode int
	Header     http.Header
	Body       []byte
}

// WithReply fills *r with the raw answer, on success and on failure; in a walk over pages, with the newest. *r is empty if
// no answer came, and unchanged if the method refused its own input.
func WithReply(r *Reply) CallOption { return func(c *callConfig) { c.reply = r } }

// request is one call as a service method describes it.
type request struct {
	op      endpoints.Row
	ids     []string    // in the path
	path    string      // below the project's prefix
	query   url.Values  // may be nil
	body    any         // nil for no body
	lenient bool        // an empty answer is fine: PostHog's API reference documents no body
	refusal *InputError // if not nil, the request is not sent

	matches  func(answer any) error // if not nil, checks that the decoded answer is the one that was asked for
	location *string                // if not nil, a redirect is the expected answer, and its target is stored here
	minTry   time.Duration          // the least time limit of a try, even if the client's is shorter

	noRetryIfSlow bool // a try that took too long is not repeated, since the caller will ask for less
}

// endpoint returns the request of an operation. The ids fill the {parameters} of its path.
func endpoint(op Op, ids ...string) request {
	row := endpoints.Of(op)
	path, refusal := row.Expand(ids)
	return request{op: row, ids: ids, path: path, refusal: refusal}
}

// endpointByID is endpoint for exports, runs and backfills.
func endpointByID(op Op, ids ...uuid.UUID) request {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return endpoint(op, texts...)
}

func (r request) info(tries int) CallInfo {
	return CallInfo{Op: r.op.Name, Method: r.op.Method, Route: r.op.Path, Tries: tries}
}

func (r request) refuse(why *InputError) request {
	r.refusal = cmp.Or(r.refusal, why)
	return r
}

// refused is the error of an operation that refuses its input, or nil.
var refused = outgoing.Refused

func (r request) check(ctx context.Context) error {
	if ctx != nil && r.refusal == nil {
		return nil
	}
	return refused(r.op.Name, cmp.Or(outgoing.CheckContext(ctx), r.refusal))
}

func (r request) with(query url.Values) request {
	r.query = query
	return r
}

func configOf(op Op, options []CallOption) (cfg callConfig, err error) {
	for _, option := range options {
		if option == nil {
			return cfg, refused(op, outgoing.Refuse("option", "nil", "an option"))
		}
		option(&cfg)
	}
	return cfg, nil
}

// call carries out one request: it builds it, sends it with retries, and decodes the answer into out. If out is
// nil, only the status counts.
func (c *Client) call(ctx context.Context, r request, out any, options ...CallOption) error {
	if err := r.check(ctx); err != nil {
		return err
	}
	cfg, err := configOf(r.op.Name, options)
	if err != nil {
		return err
	}
	cfg.emptyReply()
	return c.do(ctx, r, cfg, out)
}

// ask is call for a method that returns the decoded answer.
func ask[T any](ctx context.Context, c *Client, r request, options []CallOption) (*T, error) {
	var out T
	err := c.call(ctx, r, &out, options...)
	if err != nil && !errors.As(err, new(rowErrors)) { // with rowErrors, the page is there
		return nil, err
	}
	return &out, err
}

// askRows is ask for the list of this name in an answer.
func askRows[T any](ctx context.Context, c *Client, r request, options []CallOption, name string) ([]T, error) {
	list := rowList[T]{name: name}
	err := c.call(ctx, r, &list, options...)
	return list.rows, err
}

// do makes one call: it sends it, and reports its end. Newer servers lack /environments: a read that does not find its
// endpoint there is sent again below /projects, where the following calls of that endpoint go at once.
func (c *Client) do(ctx context.Context, r request, cfg callConfig, out any) error {
	path := c.core.APIPath
	above, isOlder := strings.CutSuffix(path, "/environments")
	if isOlder && c.core.absent.Has(path+r.op.Path) {
		path, isOlder = above+"/projects", false
	}
	x, err := c.send(ctx, r, cfg, path, out)
	if x == nil {
		return err
	}
	isAbsent := x.Status == http.StatusNotFound && x.Problem.Detail == httptry.NoEndpoint
	if isAbsent && r.op.Name != ops.Do { // the paths of Do have no bound
		c.core.absent.Add(path + r.op.Path)
	}
	switch {
	case isOlder && isAbsent && r.op.Method != http.MethodGet:
		nameProjects(err, above)
	case isOlder && isAbsent:
		var again *exchange
		if again, err = c.send(ctx, r, cfg, above+"/projects", out); again != nil {
			again.started, x = x.started, again
		}
	}
	c.core.observe(ctx, CallRecord{CallInfo: x.info(x.Number), StatusCode: x.Status, Err: err, Duration: time.Since(x.started), Ended: true})
	return err
}

// send makes the tries of a call below a path of the API, and decodes the answer or returns one typed error. Without an
// exchange, nothing was sent.
func (c *Client) send(ctx context.Context, r request, cfg callConfig, apiPath string, out any) (*exchange, error) {
	x, err := c.prepare(ctx, r, cfg, apiPath)
	if err != nil {
		return nil, err
	}
	if out != nil || cfg.reply != nil {
		x.Plan.MaxBytes = httptry.MaxAnswer
	}
	x.Try = x.Send(ctx)
	if r.location != nil {
		*r.location = x.Location
	}
	if x.OK {
		err = x.read(ctx, out)
	} else {
		err = x.failure(ctx)
	}
	if cfg.reply != nil {
		*cfg.reply = Reply{x.Status, x.Try.Header, x.Try.Body}
	}
	return x, err
}

// prepare validates a request and builds it, with everything that a try needs.
func (c *Client) prepare(ctx context.Context, r request, cfg callConfig, apiPath string) (*exchange, error) {
	if cfg.body != nil {
		r.body = cfg.body
	}
	var body []byte
	var bad *InputError
	switch {
	case c.core.api == nil || c.core.personalKey == nil:
		bad = outgoing.Refuse("client", "", "a client with WithPersonalAPIKey and a region or base URL")
	case !outgoing.IsProjectID(c.project):
		bad = outgoing.Refuse("project", c.project, outgoing.WantProject+": WithProject or ForProject")
	case r.body != nil:
		body, bad = outgoing.Body(r.body)
	}
	if bad != nil {
		return nil, refused(r.op.Name, bad)
	}
	target := outgoing.URL(c.core.api, apiPath+"/"+c.project+r.path, r.query, cfg.query)
	if slices.Contains(blockingRefreshes, target.Query().Get("refresh")) {
		r.minTry, r.noRetryIfSlow = max(r.minTry, refreshTry), true
	}
	x := &exchange{core: c.core, request: r, project: c.project, started: time.Now(), Try: &httptry.Try{}} // an error before the first try has the number 0
	if ctx.Err() != nil {
		return nil, x.transportError(httptry.ContextError(ctx), false)
	}
	key, err := c.core.personalKey(ctx)
	if err != nil {
		return nil, x.transportError(fmt.Errorf("the key source failed: %w", err), false)
	}
	key = strings.TrimSpace(key)
	if problem := outgoing.PersonalKey.Problem(key); problem != "" {
		return nil, refused(r.op.Name, outgoing.Refuse("personal API key", "", problem))
	}
	keys := []string{key}
	if body != nil {
		keys = append(keys, mask.Credentials(body)...)
	}
	if cfg.header != nil {
		keys = append(keys, mask.HeaderCredentials(cfg.header)...)
	}
	if c.core.projectKey != nil {
		keys = append(keys, c.core.projectKey())
	}
	header := http.Header{}
	x.Call = httptry.Call{
		Plan:   httptry.Plan{Origin: httptry.OriginOf(target), Timeout: max(c.core.clients.TryAPI, r.minTry)},
		Client: c.core.clients.API(), Policy: c.core.retry, Tokens: &c.core.tokens,
		Method: r.op.Method, URL: target.String(), Header: header, Body: body,
		ActsEachTime: r.op.Replay == endpoints.Never, NoRetryIfSlow: r.noRetryIfSlow, TakesLocation: r.location != nil,
		Keys: keys, Now: c.core.now,
		Mark: func(ctx context.Context, try int) context.Context {
			return context.WithValue(ctx, callInfoKey{}, r.info(try))
		},
		Tried: x.tried,
	}
	if bad = outgoing.SetHeader(header, cfg.header, key, c.core.userAgent, body != nil); bad != nil {
		return nil, refused(r.op.Name, bad)
	}
	return x, nil
}

// blockingRefreshes are the values of the parameter refresh for which the service computes the results of a dashboard or an
// insight before it answers (posthog/hogql_queries/query_runner.py, BLOCKING_EXECUTION_MODES).
var blockingRefreshes = []string{"blocking", "force_blocking", "async_except_on_cache_miss", "true"}

// refreshTry is the least time limit of such a call's only try.
const refreshTry = 2 * time.Minute

// newestFirst returns operations that do the same, given oldest first, in the order to try them: newest first, with the
// operations that the server is known to lack at the end.
func (c *Client) newestFirst(oldestFirst []Op) []Op {
	var absent, others []Op
	for _, op := range slices.Backward(oldestFirst) {
		if c.core.absent.Has(c.core.APIPath + endpoints.Of(op).Path) {
			absent = append(absent, op)
		} else {
			others = append(others, op)
		}
	}
	return append(others, absent...)
}

// nameProjects adds the path that every server has to the error of a call that is not sent twice.
func nameProjects(err error, above string) {
	api, _ := errors.AsType[*APIError](err)
	other := api.Alternative
	api.Alternative = fmt.Sprintf("WithAPIPath(%q), if the server has no %s/environments", above+"/projects", above)
	if other != "" {
		api.Alternative += "; failing that, " + other
	}
}

// Opt is an optional field of a request with three states: absent (the zero value, not sent), null,
// and a value. Fields of this type carry the JSON tag option omitzero.
type Opt[T any] = opt.Opt[T]

// Set returns an Opt that sends v.
func Set[T any](v T) Opt[T] { return opt.Set(v) }

// Null returns an Opt that sends null.
func Null[T any]() Opt[T] { return opt.Null[T]() }

// SetOrNull returns an Opt that sends *p, or null when p is nil.
func SetOrNull[T any](p *T) Opt[T] { return opt.SetOrNull(p) }

// Secret holds a credential. It prints as "[redacted]" in fmt, slog and JSON, at any depth; only the body
// of a request carries the text.
type Secret = opt.Secret

// NewSecret wraps a credential.
func NewSecret(s string) Secret { return opt.NewSecret(s) }

func isKnown[T ~string](value T, known []T) bool { return slices.Contains(known, value) }
