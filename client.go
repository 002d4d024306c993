package hogapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/endpoints"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/queries"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// Client makes the calls for one project of the service. Make one with [NewClient], since the zero value is not usable,
// and use it for the life of the program, from any goroutine; it needs no Close. [Client.ForProject] is for other
// projects: each new Client has connections of its own.
type Client struct {
	BatchExports *BatchExportsService
	Backfills    *BackfillsService
	Runs         *RunsService
	AppMetrics   *AppMetricsService
	Dashboards   *DashboardsService
	Integrations *IntegrationsService

	FileDownloads     *FileDownloadsService
	IngestionWarnings *IngestionWarningsService
	DataDeletions     *DataDeletionsService

	core    *core
	project string
}

// core holds the state that the clients of all projects share.
type core struct {
	config

	api, capture *url.URL // origins, without trailing slashes; nil if it is not set
	userAgent    string
	clients      httptry.Clients
	tokens       httptry.Tokens
	absent       endpoints.Absent // routes that the server does not have
	queries      queries.Servers  // what is known about asking queries
	project      string           // of the project API key, as far as it is known
}

// service is the underlying type of all services.
type service struct{ client *Client }

// NewClient returns a client with the given options, and sends nothing; an error joins an [*InputError] for each wrong
// option.
func NewClient(options ...Option) (*Client, error) {
	cfg := config{now: time.Now, logger: slog.New(slog.DiscardHandler)}
	for _, option := range options {
		if cfg.need(option != nil, "option", "nil", "an option") {
			option(&cfg)
		}
	}
	api, capture, err := cfg.check()
	if err != nil {
		return nil, err
	}
	clients := httptry.NewClients(cfg.httpClient, cfg.tryTimeout, cfg.pace, func(p any) error { return cfg.panicked("the transport", p) })
	cfg.httpClient = nil // a dump of the client would find keys in its buffers
	return newProjectClient(&core{
		config: cfg, api: api, capture: capture, project: cfg.Project, userAgent: strings.TrimSpace(cfg.app + " " + outgoing.Library + "/" + outgoing.Version()),
		clients: clients,
	}, cfg.Project), nil
}

func newProjectClient(c *core, project string) *Client {
	client := new(Client)
	*client = Client{
		BatchExports: &BatchExportsService{client}, Backfills: &BackfillsService{client}, Runs: &RunsService{client},
		AppMetrics: &AppMetricsService{client}, Dashboards: &DashboardsService{client}, Integrations: &IntegrationsService{client},
		FileDownloads: &FileDownloadsService{client}, IngestionWarnings: &IngestionWarningsService{client},
		DataDeletions: &DataDeletionsService{client}, core: c, project: project,
	}
	return client
}

// ForProject returns a client for another project that shares everything else: keys, connections, retry budget,
// pace and hooks. The new client cannot import, because events go to the project of the project API key: for an
// import, make a client with the key of its project. If the id is malformed, the calls of the new client return
// an [*InputError].
func (c *Client) ForProject(id string) *Client {
	return newProjectClient(c.core, outgoing.UnlessKey(strings.TrimSpace(id)))
}

// CloseIdleConnections closes the idle connections of this client and of the clients derived from it by ForProject.
// Idle connections close by themselves after 90 seconds. Connections of the transport of [WithHTTPClient] stay open:
// call the method of the same name of that client.
func (c *Client) CloseIdleConnections() { c.core.clients.CloseIdle() }

// Project returns the project's id.
func (c *Client) Project() string { return c.project }

// String describes the client without its keys.
func (c *Client) String() string {
	project, api, capture := cmp.Or(c.project, "none"), hostOf(c.core.api), hostOf(c.core.capture)
	return fmt.Sprintf("hogapi.Client{project: %s, api: %s, capture: %s}", project, api, capture)
}

func (c *Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

func hostOf(u *url.URL) string {
	if u == nil {
		return "none"
	}
	return u.Host
}

// Request is a call of an endpoint for which this package has no method.
type Request struct {
	Method string     // the HTTP method
	Path   string     // below the project's prefix, such as "/insights/", with its final slash; no query
	Query  url.Values // may be nil
	Body   any        // marshalled as JSON; nil for no body
	Replay Replay     // default: ReplaySafe for GET and HEAD, otherwise ReplayNever
}

// Do calls any endpoint of the project with the authentication, retries and errors of all other calls, and decodes the
// answer, of at most 32 MiB, into out. Pass nil for an endpoint that answers without a body, such as a delete. In an out
// of type any, numbers are float64, which rounds large ids.
func (c *Client) Do(ctx context.Context, r Request, out any, options ...CallOption) error {
	row, refusal := endpoints.Custom(r.Method, r.Path, endpoints.Replay(r.Replay))
	if refusal != nil {
		return refused(ops.Do, refusal)
	}
	if v := reflect.ValueOf(out); out != nil && (v.Kind() != reflect.Pointer || v.IsNil()) {
		return refused(ops.Do, outgoing.Refuse("out", v.Type().String(), "a pointer to something, or nil"))
	}
	call := request{op: row, path: row.Path, query: r.Query, body: r.Body}
	if r.Path == queryPath {
		call.minTry, call.noRetryIfSlow = queryTry, true
	}
	return c.call(ctx, call, out, options...)
}

// log writes one line about a call: the names of the call, never its URL, headers or bodies.
func (c *core) log(ctx context.Context, level slog.Level, text string, info CallInfo, err error, attrs ...slog.Attr) {
	if !c.logger.Enabled(ctx, level) {
		return
	}
	attrs = append([]slog.Attr{slog.String("op", string(info.Op)), slog.String("route", info.Route), slog.Int("try", info.Tries)}, attrs...)
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	c.logger.LogAttrs(ctx, level, text, attrs...)
}

// Now returns the time by the client's clock.
func (c *core) Now() time.Time { return c.now() }

// Hook runs a user's function. A panic in it is caught and logged.
func (c *core) Hook(ctx context.Context, f func()) {
	defer func() {
		if r := recover(); r != nil {
			c.logger.ErrorContext(ctx, "hogapi: a hook panicked", "panic", fmt.Sprintf("%T", r))
		}
	}()
	f()
}

// panicked makes an error of a panic in a user's function, and logs its stack.
func (c *config) panicked(who string, value any) error {
	err := errtext.Panic(value, who)
	c.logger.Error("hogapi: "+err.Error(), "stack", string(debug.Stack()))
	return err
}

// Guard runs a user's function and returns its panic as an error.
func (c *core) Guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			c.logger.Error("hogapi: a function of the caller panicked", "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

func checkContext(ctx context.Context, op Op) error { return refused(op, outgoing.CheckContext(ctx)) }

// stateFileError returns an error of internal/statefile as one of this package.
func stateFileError(err error) error {
	if unfit, ok := errors.AsType[*InputError](err); ok && unfit.Op == "" {
		return refused(ops.Import, unfit)
	}
	if errors.Is(err, durable.ErrLocked) {
		return fmt.Errorf("%w: %w", ErrHeld, err)
	}
	return err
}

// The other packages of the module reach into this one only by internal/bridge.
func init() {
	bridge.Of = func(client any) (bridge.Client, *InputError) {
		c, _ := client.(*Client)
		if c == nil || c.core == nil {
			return nil, outgoing.Refuse("client", "", "a client of NewClient")
		}
		return door{c.core, c}, nil
	}
	bridge.Rules = func(op Op, gate any, p Protocol) (wire.Rules, error) {
		o := gate.(GateOptions)
		return o.rules(p), o.check(op)
	}
	bridge.FileError = stateFileError
	bridge.Held, bridge.FromTheStart, bridge.HasNoRecords = heldError, fromTheStart, hasNoRecords
}
