package hogapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/hogapi/hogapi/internal/endpoints"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/outgoing"
)

// Region is one of the two cloud regions. It sets the origins of the API and of capture.
type Region string

// The cloud regions.
const (
	RegionUS Region = "us"
	RegionEU Region = "eu"
)

// DefaultAPIPath is the path before the project id. Servers of every age have it.
const DefaultAPIPath = "/api/projects"

// Option configures a [Client].
type Option func(*config)

// KeySource returns the personal API key for each call, for keys that rotate, and must be safe for concurrent use.
type KeySource func(context.Context) (string, error)

// config collects the options; its check finds all problems at once.
type config struct {
	outgoing.Settings

	personalKey KeySource // nil: no management calls
	keyID       string    // a hash of a fixed personal key; empty for a source
	projectKey  func() string

	httpClient *http.Client
	tryTimeout time.Duration
	retry      httptry.Policy
	pace       *rate.Limiter
	logger     *slog.Logger
	hooks      Hooks
	now        func() time.Time
	app        string
}

// need notes a problem unless a value is good.
func (c *config) need(isGood bool, field, value, want string) bool {
	if !isGood {
		c.Problem(field, value, want)
	}
	return isGood
}

// WithRegion selects a cloud region, in any case.
func WithRegion(r Region) Option {
	return func(c *config) { c.Region = strings.ToLower(strings.TrimSpace(string(r))) }
}

// WithBaseURL sets the origin of the API, and of events unless another option does, with a path prefix if a proxy needs
// one; the path of the API itself is that of [WithAPIPath].
func WithBaseURL(u string) Option { return func(c *config) { c.BaseURL = u } }

// WithCaptureURL sets the origin that takes events.
func WithCaptureURL(u string) Option { return func(c *config) { c.CaptureURL = u } }

// WithAPIPath replaces [DefaultAPIPath], for example by "/api/environments", which the service has deprecated. On a server
// without that path, a GET is tried once below DefaultAPIPath; other calls return [ErrUnsupported].
func WithAPIPath(path string) Option { return func(c *config) { c.APIPath = path } }

// WithProject sets the project's id, a number, or "@current".
func WithProject(id string) Option { return func(c *config) { c.Project = strings.TrimSpace(id) } }

// WithoutProject allows a client with a personal key and no project, for use with
// [Client.ForProject].
func WithoutProject() Option { return func(c *config) { c.NoProject = true } }

// WithPersonalAPIKey sets the key of the management calls ("phx_…"), without blanks around it.
func WithPersonalAPIKey(key string) Option {
	key = strings.TrimSpace(key)
	return func(c *config) {
		problem := outgoing.PersonalKey.Problem(key)
		c.need(problem == "", "personal API key", "", problem)
		c.personalKey = func(context.Context) (string, error) { return key, nil }
		sum := sha256.Sum256([]byte(key))
		c.keyID = hex.EncodeToString(sum[:8])
	}
}

// WithPersonalKeySource asks source for the personal API key at each call.
func WithPersonalKeySource(source KeySource) Option {
	return func(c *config) {
		c.need(source != nil, "personal key source", "", "a function, not nil")
		c.keyID = ""
		c.personalKey = func(ctx context.Context) (key string, err error) {
			defer func() {
				if p := recover(); p != nil {
					err = c.panicked("the key source", p)
				}
			}()
			return source(ctx)
		}
	}
}

// WithProjectAPIKey sets the key of capture ("phc_…"). Surrounding blanks are removed.
func WithProjectAPIKey(key string) Option {
	key = strings.TrimSpace(key)
	return func(c *config) {
		problem := outgoing.ProjectKey.Problem(key)
		c.need(problem == "", "project API key", "", problem)
		c.projectKey = func() string { return key }
	}
}

// WithHTTPClient sets the HTTP client below the retries. It is copied and never changed. Its redirect policy is
// not used. Its Timeout bounds each try if it is shorter than the time limit of a try. Put instrumentation into
// its Transport, which sees every try. Its kept connections are yours: let its IdleConnTimeout be shorter than that of the
// proxies on the way.
func WithHTTPClient(h *http.Client) Option {
	return func(c *config) {
		c.need(h != nil, "HTTP client", "", "a client, not nil")
		c.httpClient = h
	}
}

// WithTryTimeout bounds one try, its answer's reading included, by default with 30 s, and 60 s for capture.
func WithTryTimeout(d time.Duration) Option {
	return func(c *config) {
		c.need(d > 0, "try timeout", d.String(), "more than 0")
		c.need(!outgoing.LacksUnit(d), "try timeout", d.String(), outgoing.WantUnit)
		c.tryTimeout = d
	}
}

// WithRetryPolicy sets the policy for retries of management calls.
func WithRetryPolicy(p RetryPolicy) Option { return func(c *config) { c.retry = httptry.Policy(p) } }

// WithPace limits management calls, retries included, to perSecond with bursts of up to burst, by default without a limit.
// The service allows a key 480 a minute and 4,800 an hour.
func WithPace(perSecond float64, burst int) Option {
	return func(c *config) {
		given := fmt.Sprintf("%v/s, burst %d", perSecond, burst)
		c.need(perSecond > 0 && !math.IsInf(perSecond, 0) && burst >= 1, "pace", given, "a rate above 0 and a burst of at least 1")
		c.pace = rate.NewLimiter(rate.Limit(perSecond), burst)
	}
}

// WithLogger sets the logger. By default, nothing is logged. Tries and failed calls are logged at level debug, since
// the caller gets the error, and retries at warn, never with keys, bodies or URLs.
func WithLogger(l *slog.Logger) Option {
	return func(c *config) {
		c.need(l != nil, "logger", "", "a logger, not nil; leave WithLogger out for silence")
		c.logger = l
	}
}

// WithHooks sets functions that observe calls and imports.
func WithHooks(h Hooks) Option { return func(c *config) { c.hooks = h } }

// WithClock replaces time.Now where the date matters: the age of events, the dates in Retry-After, default
// ranges.
func WithClock(now func() time.Time) Option {
	return func(c *config) {
		c.need(now != nil, "clock", "", "a function, not nil")
		c.now = now
	}
}

// WithApplication adds the program's name and version to the User-Agent.
func WithApplication(name, version string) Option {
	return func(c *config) {
		app := name
		if version != "" {
			app += "/" + version
		}
		isFit := name != "" && strings.Trim(app, outgoing.VisibleASCII) == "" && !outgoing.HasKey(app)
		c.need(isFit, "application", app, "a name and version of visible ASCII without blanks, not a key")
		c.app = app
	}
}

// WithInsecureHTTP allows http:// URLs on hosts other than loopback. Keys then travel in clear text.
func WithInsecureHTTP() Option { return func(c *config) { c.IsInsecure = true } }

// FromEnv reads the variables POSTHOG_PROJECT_ID, POSTHOG_PERSONAL_API_KEY, POSTHOG_PROJECT_API_KEY, POSTHOG_REGION ("us",
// "eu") and POSTHOG_HOST, which is a region, a cloud host, or the origin of API and capture. Other options win, in any
// order.
func FromEnv() Option { return func(c *config) { c.ReadsEnv = true } }

func (c *config) readEnv() {
	c.Variables = map[string]string{}
	set := func(name, field string, taken bool, option func(string) Option) {
		if v := strings.TrimSpace(os.Getenv(name)); v != "" && !taken {
			c.Variables[field] = name
			option(v)(c)
		}
	}
	set("POSTHOG_PROJECT_ID", "project", c.Project != "" || c.NoProject, WithProject)
	set("POSTHOG_PERSONAL_API_KEY", "personal API key", c.personalKey != nil, WithPersonalAPIKey)
	set("POSTHOG_PROJECT_API_KEY", "project API key", c.projectKey != nil, WithProjectAPIKey)
	located := c.Region != "" || c.BaseURL != "" // a capture URL does not say where the API is
	set("POSTHOG_REGION", "region", located, func(v string) Option { return WithRegion(Region(v)) })
	set("POSTHOG_HOST", "base URL", located, func(v string) Option {
		if region, _ := outgoing.ReadHost(v); region != "" && (c.Region == "" || c.Region == region) {
			return WithRegion(Region(region))
		}
		return WithBaseURL(v) // the check reports a contradiction
	})
}

func (c *config) check() (api, capture *url.URL, err error) {
	if c.ReadsEnv {
		c.readEnv()
	}
	c.HasPersonalKey, c.HasProjectKey = c.personalKey != nil, c.projectKey != nil
	api, capture = c.Settings.Check()
	c.retry = c.retry.WithDefaults(c.Problem)
	var problems []error
	for _, p := range c.Problems {
		problems = append(problems, refused("", p))
	}
	return api, capture, errors.Join(problems...)
}

// RetryPolicy controls the retries of management calls. Zero fields take the default. Which failures are
// retried depends on the operation. If the server closes a kept connection just as a request is sent on it,
// that costs a try, so without retries even a read can fail.
type RetryPolicy struct {
	// MaxTries is the number of tries, the first included, at most 100; 1 turns retries off. The default is 4.
	MaxTries int
	// BaseDelay is the longest first wait. It doubles for each further wait. The default is 250 ms.
	BaseDelay time.Duration
	// MaxDelay is the longest wait if the service sends no Retry-After. The default is 30 s.
	MaxDelay time.Duration
	// MaxRetryAfter is the longest Retry-After that is obeyed; a longer one ends the call at once. The default is
	// 60 s.
	MaxRetryAfter time.Duration
}

// Hooks are functions that observe calls and imports. Each may be nil, must be safe for concurrent use, and is called on
// the goroutine that calls or sends, which waits for it. A panic in a hook is caught and logged.
type Hooks struct {
	OnCall       func(context.Context, CallRecord) // after each try of a call, and once more when the call has ended
	OnBatch      func(BatchInfo)                   // after each batch of events was answered
	OnCheckpoint func(CheckpointInfo)              // after each checkpoint was saved
}

// CallInfo names a call. The errors and hooks of a call have it. It is also in the context of each request, for
// transports that trace or count: see [CallInfoFrom].
type CallInfo struct {
	Op     Op     // for example "batch_exports.get"
	Method string // of HTTP
	Route  string // path template, fit as a label, never the URL; for Client.Do the path as given
	Tries  int    // made so far, this one included
}

// name names the call in an error.
func (i CallInfo) name() string { return endpoints.NameOf(i.Op, i.Method, i.Route) }

type callInfoKey struct{}

// CallInfoFrom returns the call to which the request with this context belongs, if there is one.
func CallInfoFrom(ctx context.Context) (CallInfo, bool) {
	info, ok := ctx.Value(callInfoKey{}).(CallInfo)
	return info, ok
}

// CallRecord is one try of a call or, with Ended, the whole call. A call that is refused before its first try has no
// record.
type CallRecord struct {
	CallInfo

	StatusCode int           // 0 if no answer came
	Err        error         // the cause if no answer came; of the call if it has ended
	Duration   time.Duration // of this try; of the call, waits included, if it has ended
	Cost       QueryCost     // of a query's try
	Retry      string        // why another try follows, such as "status 503" or "no answer"; otherwise empty
	Wait       time.Duration // until that try
	Ended      bool          // the call has ended
}

// QueryCost is the cost of a query, from its answer.
type QueryCost struct {
	BytesRead  int64 // by the query
	BudgetLeft int64 // bytes that the project's queries may read; below 0 for a debt
	IsKnown    bool  // the answer says it
}

// BatchInfo is one answered request of an import.
type BatchInfo struct {
	Lane       int
	Events     int
	Bytes      int // before compression
	WireBytes  int // as sent
	StatusCode int // 0 if no answer came
	Try        int // from 1
	Err        error
	Duration   time.Duration
}

// CheckpointInfo is one saved checkpoint.
type CheckpointInfo struct {
	Position Position
	Duration time.Duration
}
