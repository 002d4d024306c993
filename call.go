package hogapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
)

// CallOption changes one call.
type CallOption func(*callConfig)

type callConfig struct {
	header http.Header
	query  url.Values
	body   any
	reply  *Reply
}

// WithHeader adds a header to one call. It cannot replace what the call itself sets, such as
// Authorization.
func WithHeader(name, value string) CallOption {
	return func(c *callConfig) {
		if c.header == nil {
			c.header = http.Header{}
		}
		c.header.Add(name, value)
	}
}

// WithQuery sets query parameters of one call, over those that the method sets. Listed calls keep
// them on every page.
func WithQuery(q url.Values) CallOption {
	return func(c *callConfig) {
		if c.query == nil {
			c.query = url.Values{}
		}
		maps.Copy(c.query, q)
	}
}

// WithBody sets the JSON body of one call, in place of the method's own. Action endpoints may carry
// the fields that PostHog's API reference lists for them, although the service reads few of them.
func WithBody(body any) CallOption { return func(c *callConfig) { c.body = body } }

// Reply is the raw answer of a call.
type Reply struct {
	StatusCode int
	Header     http.Header // on success as it came; on failure cut at 64 KiB, with keys redacted
	Body       []byte      // on success as it came; on failure cut at 64 KiB, with keys redacted
}

// WithReply fills *r with the raw answer, on success and on failure; where none came it empties it,
// unless the method itself has refused its input. For a walk over pages it holds the newest one.
func WithReply(r *Reply) CallOption { return func(c *callConfig) { c.reply = r } }

// request is one call as a service method describes it.
type request struct {
	op      operation
	ids     []string   // for the {parameters} of the path
	query   url.Values // may be nil
	body    any        // nil sends none
	lenient bool       // an empty answer is fine: PostHog's API reference documents no body
	refusal error      // why it is not sent: bad input

	location *string       // where a redirect is the answer that is wanted: takes the place it leads to
	leastTry time.Duration // a try may last so long, whatever the client's limit is

	tooMuchIsFinal bool // a try that took too long is not repeated: the caller asks for less
}

// endpoint is the request of an operation of the table.
func endpoint(op Op, ids ...string) request { return request{op: operations[op], ids: ids} }

// endpointByID is endpoint for exports, runs and backfills: the ids fill the {parameters} in order.
// It refuses the nil id.
func endpointByID(op Op, ids ...uuid.UUID) request {
	r := endpoint(op)
	names := parameter.FindAllString(r.op.path, -1)
	for i, id := range ids {
		if id == uuid.Nil {
			return r.refuse(&InputError{Op: op, Field: names[i], Value: id.String(), Want: "an id, not the nil UUID"})
		}
		r.ids = append(r.ids, id.String())
	}
	return r
}

// refuse makes the first error that is not nil the request's refusal.
func (r request) refuse(err error) request {
	if r.refusal == nil {
		r.refusal = err
	}
	return r
}

// check is why nothing may be sent: bad input.
func (r request) check(ctx context.Context) error {
	if ctx == nil {
		return nilContext(r.op.name)
	}
	return r.refusal
}

// with is the request with a query of its own.
func (r request) with(query url.Values) request {
	r.query = query
	return r
}

var parameter = regexp.MustCompile(`\{\w+\}`)

// configOf is what the options of a call say together.
func configOf(op Op, options []CallOption) (cfg callConfig, err error) {
	for _, option := range options {
		if option == nil {
			return cfg, &InputError{Op: op, Field: "option", Value: "nil", Want: "an option"}
		}
		option(&cfg)
	}
	return cfg, nil
}

// call carries out one request: build, send with retries, decode into out. A nil out means that the
// status says all.
func (c *Client) call(ctx context.Context, r request, out any, options ...CallOption) error {
	if err := r.check(ctx); err != nil {
		return err
	}
	cfg, err := configOf(r.op.name, options)
	if err != nil {
		return err
	}
	if cfg.reply != nil {
		*cfg.reply = Reply{} // it may hold an earlier call's
	}
	return c.carryOut(ctx, r, cfg, c.core.apiPath, out)
}

// carryOut is one call below a path of the API. What is not found below /environments, which newer
// servers lack, is read below /projects.
func (c *Client) carryOut(ctx context.Context, r request, cfg callConfig, apiPath string, out any) error {
	x, err := c.prepare(ctx, r, cfg, apiPath)
	if err != nil {
		return err
	}
	if out != nil || cfg.reply != nil {
		x.Plan.MostBytes = httptry.MaxAnswer
	}
	x.Location, x.TooMuchIsFinal = r.location, r.tooMuchIsFinal
	x.Send(ctx)
	err = x.finish(ctx, r.lenient, out)
	above, isOlder := strings.CutSuffix(apiPath, "/environments")
	isOlder = isOlder && isUnknownEndpoint(err)
	if isOlder && r.op.method != http.MethodGet {
		nameProjects(err, above)
	}
	if cfg.reply != nil {
		*cfg.reply = x.reply()
	}
	x.observeResult(ctx, err)
	if isOlder && r.op.method == http.MethodGet {
		return c.carryOut(ctx, r, cfg, above+"/projects", out)
	}
	return err
}

// nameProjects names, in the error of a call that is not sent twice, the path that every server has.
func nameProjects(err error, above string) {
	api, _ := errors.AsType[*APIError](err)
	other := api.Alternative
	api.Alternative = fmt.Sprintf("WithAPIPath(%q), if the server has no %s/environments", above+"/projects", above)
	if other != "" {
		api.Alternative += "; failing that, " + other
	}
}

// fetch carries out a request whose answer is a T.
func fetch[T any](ctx context.Context, c *Client, r request, options []CallOption) (*T, error) {
	var out T
	if err := c.call(ctx, r, &out, options...); err != nil {
		return nil, err
	}
	return &out, nil
}

// fetchMatching is fetch of an answer that must match what was asked for.
func fetchMatching[T any](ctx context.Context, c *Client, r request, options []CallOption, matches func(*T) error) (*T, error) {
	out := matching[T]{matches: matches}
	if err := c.call(ctx, r, &out, options...); err != nil {
		return nil, err
	}
	return &out.answer, nil
}

// prepare validates a request and builds it, with everything that a try needs.
func (c *Client) prepare(ctx context.Context, r request, cfg callConfig, apiPath string) (*exchange, error) {
	target, err := c.target(r, apiPath, cfg.query)
	if err != nil {
		return nil, err
	}
	if cfg.body != nil {
		r.body = cfg.body
	}
	body, err := encodeBody(r.op.name, r.body)
	if err != nil {
		return nil, err
	}
	x := newExchange(c.core, r.op, target, len(r.ids))
	x.Plan.Timeout = max(c.core.timeouts.API, r.leastTry)
	if ctx.Err() != nil {
		return nil, x.transportError(httptry.ContextError(ctx), false)
	}
	header, err := x.Prepare(ctx, r.op.method, target.String(), body)
	if err != nil {
		return nil, x.transportError(err, false)
	}
	key, err := c.core.personalKey(ctx)
	if err != nil {
		return nil, x.transportError(fmt.Errorf("the key source failed: %w", err), false)
	}
	key = strings.TrimSpace(key)
	if problem := personalKeyProblem(key); problem != "" {
		return nil, &InputError{Op: r.op.name, Field: "personal API key", Want: problem}
	}
	x.addKey(key)
	if text, ok := body.([]byte); ok {
		x.Keys = append(x.Keys, mask.Credentials(text)...)
	}
	if err := c.setHeaders(header, r.op.name, cfg.header, key, body != nil); err != nil {
		return nil, err
	}
	return x, nil
}

// target is the URL of a request below a path of the API and the project.
func (c *Client) target(r request, apiPath string, extra url.Values) (*url.URL, error) {
	if c.core.api == nil || c.core.personalKey == nil {
		return nil, &InputError{
			Op: r.op.name, Field: "client", Want: "a client with WithPersonalAPIKey and a region or base URL",
		}
	}
	if !isProjectID(c.project) {
		return nil, &InputError{
			Op: r.op.name, Field: "project", Value: mask.UnlessKey(c.project), Want: wantProject + ": WithProject or ForProject",
		}
	}
	path, err := r.op.expand(r.ids)
	if err != nil {
		return nil, err
	}
	u := *c.core.api
	u.RawPath = u.EscapedPath() + apiPath + "/" + c.project + path
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil, err // not reached: all parts are checked
	}
	query := maps.Clone(r.query)
	if query == nil {
		query = url.Values{}
	}
	maps.Copy(query, extra)
	u.RawQuery = query.Encode()
	return &u, nil
}

// encodeBody returns nil for no body.
func encodeBody(op Op, body any) (any, error) {
	if body == nil {
		return nil, nil
	}
	b, bad := outgoing.Body(body)
	if bad != nil {
		return nil, &InputError{Op: op, Field: "body", Value: bad.Value, Want: bad.Want}
	}
	return b, nil // a byte slice rewinds for free (T12)
}

func (c *Client) setHeaders(h http.Header, op Op, extra http.Header, key string, hasBody bool) error {
	for name, values := range extra {
		if want := outgoing.HeaderProblem(name, values); want != "" {
			return &InputError{Op: op, Field: "header", Value: mask.UnlessKey(name), Want: want}
		}
		h[name] = values
	}
	h.Set("Authorization", "Bearer "+key)
	h.Set("Accept", "application/json")
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", c.core.userAgent)
	}
	if hasBody {
		h.Set("Content-Type", "application/json")
	}
	return nil
}
