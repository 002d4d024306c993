package hogapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
)

// Region is one of the two cloud regions. It sets the origins of the API and of capture.
type Region string

// The cloud regions.
const (
	RegionUS Region = "us"
	RegionEU Region = "eu"
)

func (r Region) apiURL() string     { return "https://" + string(r) + ".posthog.com" }
func (r Region) captureURL() string { return "https://" + string(r) + ".i.posthog.com" }

// DefaultAPIPath is the path before the project id. Servers of every age have it.
const DefaultAPIPath = "/api/projects"

// Option sets up a [Client].
type Option func(*config)

// KeySource gives the personal API key for each call, for keys that rotate. It must be safe for
// concurrent use.
type KeySource func(context.Context) (string, error)

// config collects what the options say; its check finds all problems at once.
type config struct {
	region     Region
	baseURL    string
	captureURL string
	apiPath    string

	project   string
	noProject bool

	personalKey KeySource // nil: no management calls
	projectKey  func() string

	httpClient *http.Client
	tryTimeout time.Duration
	retry      RetryPolicy
	pace       *rate.Limiter
	logger     *slog.Logger
	hooks      Hooks
	clock      func() time.Time
	app        string
	insecure   bool
	env        bool // FromEnv was asked for

	problems []error
}

func (c *config) problem(field, value, want string) {
	c.problems = append(c.problems, &InputError{Field: field, Value: mask.UnlessKey(value), Want: want})
}

// WithRegion selects a cloud region.
func WithRegion(r Region) Option { return func(c *config) { c.region = r } }

// WithBaseURL sets the origin of the API, with a path prefix where a proxy needs one, but without
// the path of the API itself, for which see [WithAPIPath]. Unless [WithCaptureURL] or [WithRegion]
// says otherwise, events go there too, as self-hosted servers have it.
func WithBaseURL(u string) Option { return func(c *config) { c.baseURL = u } }

// WithCaptureURL sets the origin that takes events.
func WithCaptureURL(u string) Option { return func(c *config) { c.captureURL = u } }

// WithAPIPath replaces [DefaultAPIPath], for example by "/api/environments", which the service has
// deprecated. A GET for which the server has no such path there is tried once below
// [DefaultAPIPath]. Other calls are not: their [ErrUnsupported] names this option as the remedy.
func WithAPIPath(path string) Option { return func(c *config) { c.apiPath = path } }

// WithProject sets the project's id, a number, or "@current".
func WithProject(id string) Option { return func(c *config) { c.project = strings.TrimSpace(id) } }

// WithoutProject allows a client with a personal key and no project, for use with
// [Client.ForProject].
func WithoutProject() Option { return func(c *config) { c.noProject = true } }

// WithPersonalAPIKey sets the key of the management calls ("phx_…"). Surrounding blanks are
// removed.
func WithPersonalAPIKey(key string) Option {
	key = strings.TrimSpace(key)
	return func(c *config) {
		if problem := personalKeyProblem(key); problem != "" {
			c.problem("personal API key", "", problem)
		}
		c.personalKey = func(context.Context) (string, error) { return key, nil }
	}
}

// WithPersonalKeySource asks source for the personal API key at each call.
func WithPersonalKeySource(source KeySource) Option {
	return func(c *config) {
		if source == nil {
			c.problem("personal key source", "", "a function, not nil")
		}
		c.personalKey = source
	}
}

// WithProjectAPIKey sets the key of capture ("phc_…"). Surrounding blanks are removed.
func WithProjectAPIKey(key string) Option {
	key = strings.TrimSpace(key)
	return func(c *config) {
		if problem := projectKeyProblem(key); problem != "" {
			c.problem("project API key", "", problem)
		}
		c.projectKey = func() string { return key }
	}
}

// WithHTTPClient sets the HTTP client below the retries. It is copied and never changed. Its
// redirect policy is not used; its Timeout, where shorter than the time for one try, bounds each
// try. Put instrumentation into its Transport: that sees every try.
func WithHTTPClient(h *http.Client) Option {
	return func(c *config) {
		if h == nil {
			c.problem("HTTP client", "", "a client, not nil")
		}
		c.httpClient = h
	}
}

// WithTryTimeout bounds one try, the reading of its answer included. The default is 30 s, and 60 s
// for capture.
func WithTryTimeout(d time.Duration) Option {
	return func(c *config) {
		if d <= 0 {
			c.problem("try timeout", d.String(), "more than 0")
		}
		c.tryTimeout = d
	}
}

// WithRetryPolicy sets how management calls are retried.
func WithRetryPolicy(p RetryPolicy) Option { return func(c *config) { c.retry = p } }

// WithPace limits management calls, retries included, to perSecond with bursts of up to burst. The
// service allows a key 480 a minute and 4,800 an hour. The default is no limit.
func WithPace(perSecond float64, burst int) Option {
	return func(c *config) {
		if !(perSecond > 0) || math.IsInf(perSecond, 0) || burst < 1 {
			given := fmt.Sprintf("%v/s, burst %d", perSecond, burst)
			c.problem("pace", given, "a rate above 0 and a burst of at least 1")
			return
		}
		c.pace = rate.NewLimiter(rate.Limit(perSecond), burst)
	}
}

// WithLogger sets where events are logged: each try at debug, retries at warn, failures at error.
// Keys, bodies and URLs are never logged. The default is silence.
func WithLogger(l *slog.Logger) Option { return func(c *config) { c.logger = l } }

// WithHooks sets functions that are told what happens.
func WithHooks(h Hooks) Option { return func(c *config) { c.hooks = h } }

// WithClock replaces time.Now where calendar time matters: the age of events, Retry-After dates,
// default windows.
func WithClock(now func() time.Time) Option {
	return func(c *config) {
		if now == nil {
			c.problem("clock", "", "a function, not nil")
			return
		}
		c.clock = now
	}
}

// WithApplication adds the program's name and version to the User-Agent.
func WithApplication(name, version string) Option {
	return func(c *config) {
		app := name
		if version != "" {
			app += "/" + version
		}
		if name == "" || !isVisibleASCII(app) || mask.HasKey(app) {
			c.problem("application", app, "a name and version of visible ASCII without blanks, not a key")
			return
		}
		c.app = app
	}
}

// WithInsecureHTTP allows http:// URLs on hosts other than loopback: keys then travel in clear
// text.
func WithInsecureHTTP() Option { return func(c *config) { c.insecure = true } }

// FromEnv reads POSTHOG_PROJECT_ID, POSTHOG_PERSONAL_API_KEY, POSTHOG_PROJECT_API_KEY,
// POSTHOG_REGION ("us", "eu") and POSTHOG_HOST: a cloud host means its region, any other is the
// origin of API and capture. Options win over the environment, wherever they stand. Without FromEnv
// no variable is read.
func FromEnv() Option { return func(c *config) { c.env = true } }

// readEnv fills from the environment what no option has set.
func (c *config) readEnv() {
	set := func(name string, taken bool, option func(string) Option) {
		if v := strings.TrimSpace(os.Getenv(name)); v != "" && !taken {
			option(v)(c)
		}
	}
	set("POSTHOG_PROJECT_ID", c.project != "" || c.noProject, WithProject)
	set("POSTHOG_PERSONAL_API_KEY", c.personalKey != nil, WithPersonalAPIKey)
	set("POSTHOG_PROJECT_API_KEY", c.projectKey != nil, WithProjectAPIKey)
	located := c.region != "" || c.baseURL != "" // a capture URL says nothing of the API
	set("POSTHOG_REGION", located, func(v string) Option { return WithRegion(Region(strings.ToLower(v))) })
	set("POSTHOG_HOST", located, func(v string) Option {
		switch r := regionOfHost(v); {
		case r == "" || c.region != "" && c.region != r: // the check reports a contradiction
			return WithBaseURL(v)
		default:
			return WithRegion(r)
		}
	})
}

// orEnv names the variables in addition to the options, where FromEnv was asked for.
func (c *config) orEnv(names string) string {
	if !c.env {
		return ""
	}
	return "; in the environment " + names
}

func personalKeyProblem(key string) string {
	switch {
	case key == "":
		return "a personal API key (phx_…), not an empty text"
	case strings.HasPrefix(key, "phc_"):
		return "a personal API key (phx_…); this is a project API key: give it to WithProjectAPIKey"
	case !isVisibleASCII(key) || strings.ContainsAny(key, `"\`):
		return wantVisible
	case len(key) > 256:
		return "at most 256 characters"
	}
	return ""
}

func projectKeyProblem(key string) string {
	switch {
	case key == "":
		return "a project API key (phc_…), not an empty text"
	case strings.HasPrefix(key, "phx_"):
		return "a project API key (phc_…); this is a personal API key: give it to WithPersonalAPIKey"
	case !isVisibleASCII(key) || strings.ContainsAny(key, `"\`):
		return wantVisible
	case len(key) > 64:
		return "at most 64 characters"
	}
	return ""
}

// wantVisible keeps a key the same text in a header, in JSON and in a quoted error, so that it can
// be found and redacted there.
const wantVisible = "visible ASCII characters only, without quotes and backslashes"

func isVisibleASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// check validates the whole configuration and returns the origins.
func (c *config) check() (endpoints, error) {
	var e endpoints
	if c.env {
		c.readEnv()
	}
	if c.region != "" && c.region != RegionUS && c.region != RegionEU {
		c.problem("region", string(c.region), `"us" or "eu"`)
	}
	c.locate()
	if c.baseURL == "" && c.captureURL == "" {
		c.problem("region", "", "WithRegion(RegionUS) or WithRegion(RegionEU), or WithBaseURL for a server of your own"+
			c.orEnv("POSTHOG_REGION or POSTHOG_HOST"))
	}
	e.api = c.parseOrigin("base URL", c.baseURL)
	e.capture = e.api
	if c.captureURL != c.baseURL {
		e.capture = c.parseOrigin("capture URL", c.captureURL)
	}
	if c.apiPath == "" {
		c.apiPath = DefaultAPIPath
	}
	c.apiPath = "/" + strings.Trim(c.apiPath, "/")
	for segment := range strings.SplitSeq(c.apiPath[1:], "/") {
		if !outgoing.IsPathSegment(segment) || mask.HasKey(segment) {
			c.problem("API path", c.apiPath, `a path such as "/api/projects"`)
			break
		}
	}
	c.checkProject()
	if c.personalKey == nil && c.projectKey == nil {
		c.problem("keys", "", "WithPersonalAPIKey for management calls, WithProjectAPIKey for events, or both"+
			c.orEnv("POSTHOG_PERSONAL_API_KEY, POSTHOG_PROJECT_API_KEY"))
	}
	c.retry = c.retry.withDefaults(c)
	return e, errors.Join(c.problems...)
}

func (c *config) checkProject() {
	switch {
	case c.project != "" && c.noProject:
		c.problem("project", c.project, "either WithProject or WithoutProject")
	case c.project != "" && !isProjectID(c.project):
		c.problem("project", c.project, wantProject)
	case c.project == "" && !c.noProject && c.personalKey != nil:
		c.problem("project", "", "WithProject with the project's id (see the project's settings), or WithoutProject"+
			c.orEnv("POSTHOG_PROJECT_ID"))
	}
}

const wantProject = `the project's id, a number, or "@current"`

func isProjectID(s string) bool {
	return s == "@current" || s != "" && len(s) <= 20 && strings.Trim(s, "0123456789") == ""
}

// RetryPolicy says how management calls are retried. Zero fields take the default.
// Which failures are retried is not a setting: it follows from the operation. A connection that the
// server closes while it takes a request costs a try too, so without retries a read can fail there.
type RetryPolicy struct {
	MaxTries      int           // the first included; default 4, at most 100; 1 turns retries off
	BaseDelay     time.Duration // upper end of the first wait, doubled for each further one; default 250 ms
	MaxDelay      time.Duration // upper end of any wait; default 30 s
	MaxRetryAfter time.Duration // a longer Retry-After is an error at once; default 60 s
}

func (p RetryPolicy) withDefaults(c *config) RetryPolicy {
	if p.MaxTries < 0 || p.MaxTries > httptry.MostTries {
		c.problem("RetryPolicy.MaxTries", strconv.Itoa(p.MaxTries), "1 to 100, or 0 for the default")
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"BaseDelay", p.BaseDelay}, {"MaxDelay", p.MaxDelay}, {"MaxRetryAfter", p.MaxRetryAfter}} {
		if d.value < 0 {
			c.problem("RetryPolicy."+d.field, d.value.String(), "a positive duration, or 0 for the default")
		}
	}
	if p.MaxTries == 0 {
		p.MaxTries = 4
	}
	if p.BaseDelay == 0 {
		p.BaseDelay = 250 * time.Millisecond
	}
	if p.MaxDelay == 0 {
		p.MaxDelay = 30 * time.Second
	}
	if p.MaxRetryAfter == 0 {
		p.MaxRetryAfter = time.Minute
	}
	return p
}
