package hogapi

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Client calls the service. Its zero value is not usable: see [NewClient]. It is safe for
// concurrent use and holds nothing that needs closing.
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

// core is what the clients of all projects share.
type core struct {
	endpoints

	apiPath     string
	personalKey KeySource
	projectKey  func() string
	userAgent   string

	clients  httptry.Clients
	timeouts httptry.Timeouts
	retry    httptry.Policy
	tokens   *httptry.Tokens
	logger   *slog.Logger
	hooks    Hooks
	now      func() time.Time

	project string // that the project API key belongs to, as far as it is known
}

// service is what all services are made of.
type service struct{ client *Client }

// NewClient checks all options at once and reports every problem in one joined error, each an
// [*InputError]. It sends nothing.
func NewClient(options ...Option) (*Client, error) {
	cfg := config{logger: slog.New(slog.DiscardHandler), clock: time.Now}
	for _, option := range options {
		if option == nil {
			cfg.problem("option", "nil", "an option")
			continue
		}
		option(&cfg)
	}
	where, err := cfg.check()
	if err != nil {
		return nil, err
	}
	if cfg.logger == nil {
		cfg.logger = slog.New(slog.DiscardHandler)
	}
	c := &core{
		endpoints:   where,
		apiPath:     cfg.apiPath,
		personalKey: cfg.personalKey,
		projectKey:  cfg.projectKey,
		userAgent:   userAgent(cfg.app),
		clients:     httptry.NewClients(cfg.httpClient, cfg.pace),
		timeouts:    httptry.NewTimeouts(cfg.tryTimeout, cfg.httpClient),
		retry:       httptry.Policy(cfg.retry),
		tokens:      httptry.NewTokens(),
		logger:      cfg.logger,
		hooks:       cfg.hooks,
		now:         cfg.clock,
		project:     cfg.project,
	}
	return newProjectClient(c, cfg.project), nil
}

func newProjectClient(c *core, project string) *Client {
	client := &Client{core: c, project: project}
	client.BatchExports = &BatchExportsService{client}
	client.Backfills = &BackfillsService{client}
	client.Runs = &RunsService{client}
	client.AppMetrics = &AppMetricsService{client}
	client.Dashboards = &DashboardsService{client}
	client.FileDownloads = &FileDownloadsService{client}
	client.IngestionWarnings = &IngestionWarningsService{client}
	client.DataDeletions = &DataDeletionsService{client}
	client.Integrations = &IntegrationsService{client}
	return client
}

// ForProject returns a client for another project that shares everything else: keys, connections,
// retry budget, pace and hooks. It refuses to import: events go to the project of the project API
// key, so an import needs a client made with that key. A malformed id is reported by the calls, as
// an [*InputError].
func (c *Client) ForProject(id string) *Client {
	return newProjectClient(c.core, mask.UnlessKey(strings.TrimSpace(id)))
}

// Project returns the project's id.
func (c *Client) Project() string { return c.project }

// String names the client without its keys.
func (c *Client) String() string {
	project, api, capture := cmp.Or(c.project, "none"), hostOf(c.core.api), hostOf(c.core.capture)
	return fmt.Sprintf("hogapi.Client{project: %s, api: %s, capture: %s}", project, api, capture)
}

// GoString is String.
func (c *Client) GoString() string { return c.String() }

// Format writes String under every verb.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// LogValue is String for slog.
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText is String, for encoders.
func (c *Client) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

func hostOf(u *url.URL) string {
	if u == nil {
		return "none"
	}
	return u.Host
}

// Request is a call of an endpoint that this package has no method for.
type Request struct {
	Method string     // of HTTP
	Path   string     // below the project's prefix, such as "/insights/", with its final slash; no query
	Query  url.Values // may be nil
	Body   any        // marshalled as JSON; nil sends none
	Replay Replay     // default: safe for GET and HEAD, otherwise never sent twice
}

// Do calls any endpoint of the project with the authentication, retries and errors of all other
// calls, and decodes the answer into out unless out is nil.
//
// An answer is refused if it is larger than 32 MiB of JSON, or if it would become more than about
// 128 MiB of Go values, by an estimate from the JSON and the type of out. What an UnmarshalJSON of
// out's own does is not in that estimate. Unlike other calls, Do does not remove a key that the
// server repeats in its answer.
func (c *Client) Do(ctx context.Context, r Request, out any, options ...CallOption) error {
	op := operation{name: ops.Do, method: r.Method, path: r.Path, replay: r.Replay}
	if err := op.checkCustom(); err != nil {
		return err
	}
	if v := reflect.ValueOf(out); out != nil && (v.Kind() != reflect.Pointer || v.IsNil()) {
		return &InputError{Op: ops.Do, Field: "out", Value: v.Type().String(), Want: "a pointer to something, or nil"}
	}
	return c.call(ctx, request{op: op, query: r.Query, body: r.Body}, out, options...)
}

// checkCustom validates the method and path of a call through Do and settles its replay class.
func (o *operation) checkCustom() error {
	switch o.method {
	case http.MethodGet, http.MethodHead:
		if o.replay == ReplayDefault {
			o.replay = ReplaySafe
		}
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		if o.replay == ReplayDefault {
			o.replay = ReplayNever
		}
	default:
		return &InputError{
			Op: o.name, Field: "Method", Value: mask.UnlessKey(o.method), Want: "GET, HEAD, POST, PUT, PATCH or DELETE",
		}
	}
	if o.replay > ReplayNever {
		return &InputError{
			Op: o.name, Field: "Replay", Value: strconv.Itoa(int(o.replay)), Want: "one of the classes of this package",
		}
	}
	path, slashed := strings.CutPrefix(o.path, "/")
	path = strings.TrimSuffix(path, "/")
	for segment := range strings.SplitSeq(path, "/") {
		if !slashed || !outgoing.IsPathSegment(segment) || mask.HasKey(segment) {
			shown, _, _ := strings.Cut(o.path, "?") // a query may hold anything
			return &InputError{
				Op: o.name, Field: "Path", Value: mask.UnlessKey(shown), Want: `a path below the project such as "/insights/", ` +
					`of letters, digits, '_', '@' and '-'; the query goes into Query`,
			}
		}
	}
	return nil
}

const modulePath = "github.com/hogapi/hogapi"

// libraryVersion is the version of this module in the running program, or "devel".
var libraryVersion = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == modulePath && m.Version != "" && m.Version != "(devel)" {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	return "devel"
})

func userAgent(app string) string {
	agent := "hogapi-go/" + libraryVersion()
	if app != "" {
		agent = app + " " + agent
	}
	return agent
}

// endpoints are the two checked origins of a client, without trailing slashes.
type endpoints struct{ api, capture *url.URL }

// locate turns the region and the given URLs into two URLs, and reports contradictions.
func (c *config) locate() {
	api, capture := regionOfHost(c.baseURL), regionOfHost(c.captureURL)
	switch {
	case c.region != "" && c.baseURL != "" && api != c.region:
		c.problem("base URL", "", "either a region or a base URL: the two given contradict each other")
	case strings.Contains(c.baseURL, ".i.posthog.com"):
		c.problem("base URL", "", "the API's origin: this one only takes events; say WithRegion")
	case capture != "" && (c.region != "" && capture != c.region || api != "" && capture != api):
		c.problem("capture URL", "", "the capture origin of the same region")
	}
	if c.region == RegionUS || c.region == RegionEU {
		api = c.region
		c.baseURL = cmp.Or(c.baseURL, c.region.apiURL())
	}
	if api != "" {
		c.captureURL = cmp.Or(c.captureURL, api.captureURL())
	}
	c.captureURL = cmp.Or(c.captureURL, c.baseURL)
	if c.baseURL == "" && c.captureURL != "" && c.personalKey != nil {
		c.problem("base URL", "", "WithRegion or WithBaseURL, which a personal API key needs")
	}
}

// parseOrigin checks a URL that keys will be sent to.
func (c *config) parseOrigin(field, text string) *url.URL {
	if text == "" {
		return nil
	}
	u, want := outgoing.Origin(text, c.insecure)
	if want != "" {
		c.problem(field, "", want)
	}
	return u
}

// regionOfHost returns the region whose API or capture origin u is, or "".
func regionOfHost(u string) Region {
	host := u
	if parsed, err := url.Parse(u); err == nil && parsed.Host != "" {
		host = parsed.Hostname()
	}
	switch strings.ToLower(host) {
	case "us.posthog.com", "us.i.posthog.com", "app.posthog.com":
		return RegionUS
	case "eu.posthog.com", "eu.i.posthog.com":
		return RegionEU
	}
	return ""
}
