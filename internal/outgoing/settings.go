package outgoing

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/hogapi/hogapi/ops"
)

// The cloud regions, each with the hosts of its API and of capture.
const (
	RegionUS = "us"
	RegionEU = "eu"
)

// defaultAPIPath is the path before the project id.
const defaultAPIPath = "/api/projects"

// Settings say where a client sends its calls and events.
type Settings struct {
	Region, BaseURL, CaptureURL string
	APIPath                     string
	Project                     string
	NoProject                   bool // a missing project is allowed
	HasPersonalKey              bool // for management calls
	HasProjectKey               bool // for events
	IsInsecure                  bool // http is allowed
	ReadsEnv                    bool // the environment was read too

	Variables map[string]string // of the environment, by the fields that have their values
	Problems  []*ops.InputError
}

// inEnvironment turns advice about options into advice about the environment.
var inEnvironment = strings.NewReplacer(
	"give it to WithProjectAPIKey", "put it into POSTHOG_PROJECT_API_KEY", "give it to WithPersonalAPIKey", "put it into POSTHOG_PERSONAL_API_KEY",
	"a region or a base URL: the two given", "POSTHOG_REGION or POSTHOG_HOST: the two", "an absolute URL", `"us", "eu" or an absolute URL`,
)

// Problem notes a refusal. It names the variable for a value from the environment.
func (s *Settings) Problem(field, value, want string) {
	if variable := s.Variables[field]; variable != "" {
		field, want = variable, inEnvironment.Replace(want)
	}
	s.Problems = append(s.Problems, Refuse(field, value, want))
}

// Check completes the settings, notes problems, and returns the origins of the API and of capture,
// without trailing slashes.
func (s *Settings) Check() (api, capture *url.URL) {
	if s.Region != "" && s.Region != RegionUS && s.Region != RegionEU {
		s.Problem("region", s.Region, `"us" or "eu"`)
	}
	s.locate()
	if s.BaseURL == "" && s.CaptureURL == "" {
		s.Problem("region", "", "WithRegion(RegionUS) or WithRegion(RegionEU), or WithBaseURL for a server of your own"+
			s.orEnv("POSTHOG_REGION or POSTHOG_HOST"))
	}
	origin := func(field, text string) *url.URL {
		if text == "" {
			return nil
		}
		u, want := Origin(text, s.IsInsecure)
		if want != "" {
			s.Problem(field, "", want)
		}
		return u
	}
	api = origin("base URL", s.BaseURL)
	capture = api
	if s.CaptureURL != s.BaseURL {
		capture = origin("capture URL", s.CaptureURL)
	}
	s.APIPath = "/" + strings.Trim(cmp.Or(s.APIPath, defaultAPIPath), "/")
	isNoSegment := func(segment string) bool { return !IsPathSegment(segment) || HasKey(segment) }
	if slices.ContainsFunc(strings.Split(s.APIPath[1:], "/"), isNoSegment) {
		s.Problem("API path", s.APIPath, `a path such as "/api/projects"`)
	}
	switch {
	case s.Project != "" && s.NoProject:
		s.Problem("project", s.Project, "either WithProject or WithoutProject")
	case s.Project != "" && !IsProjectID(s.Project):
		s.Problem("project", s.Project, WantProject)
	case s.Project == "" && !s.NoProject && s.HasPersonalKey:
		s.Problem("project", "", "WithProject with the project's id (see the project's settings), or WithoutProject"+
			s.orEnv("POSTHOG_PROJECT_ID"))
	}
	if !s.HasPersonalKey && !s.HasProjectKey {
		s.Problem("keys", "", "WithPersonalAPIKey for management calls, WithProjectAPIKey for events, or both"+
			s.orEnv("POSTHOG_PERSONAL_API_KEY, POSTHOG_PROJECT_API_KEY"))
	}
	return api, capture
}

// locate derives both URLs from the region and the given URLs, and notes contradictions.
func (s *Settings) locate() {
	api, capture := RegionOf(s.BaseURL), RegionOf(s.CaptureURL)
	switch {
	case s.Region != "" && s.BaseURL != "" && api != s.Region:
		s.Problem("base URL", "", "either a region or a base URL: the two given contradict each other")
	case strings.Contains(s.BaseURL, ".i.posthog.com"):
		s.Problem("base URL", "", "the API's origin, "+apiOf(api)+": "+hostOf(s.BaseURL)+" only takes events; or say WithRegion")
	case slices.Contains([]string{"app.posthog.com", "posthog.com", "www.posthog.com"}, hostOf(s.BaseURL)):
		s.Problem("base URL", "", "the API's origin, "+apiOf(api)+": "+hostOf(s.BaseURL)+" only redirects or is the website; or say WithRegion")
	case capture != "" && (s.Region != "" && capture != s.Region || api != "" && capture != api):
		s.Problem("capture URL", "", "the capture origin of the same region")
	}
	if s.Region == RegionUS || s.Region == RegionEU {
		api = s.Region
		s.BaseURL = cmp.Or(s.BaseURL, "https://"+s.Region+".posthog.com")
	}
	if api != "" {
		s.CaptureURL = cmp.Or(s.CaptureURL, "https://"+api+".i.posthog.com")
	}
	s.CaptureURL = cmp.Or(s.CaptureURL, s.BaseURL)
	if s.BaseURL == "" && s.CaptureURL != "" && s.HasPersonalKey {
		s.Problem("base URL", "", "WithRegion or WithBaseURL, which a personal API key needs")
	}
}

// orEnv returns text that adds environment variables to the names of options, or "" if the environment was
// not read.
func (s *Settings) orEnv(names string) string {
	if !s.ReadsEnv {
		return ""
	}
	return "; in the environment " + names
}

// RegionOf returns the region with API or capture origin u, or "".
func RegionOf(u string) string {
	switch hostOf(u) {
	case "us.posthog.com", "us.i.posthog.com", "app.posthog.com":
		return RegionUS
	case "eu.posthog.com", "eu.i.posthog.com":
		return RegionEU
	}
	return ""
}

// ReadHost reads a host as people write it: a region, a host of PostHog Cloud, or the URL of another server.
func ReadHost(text string) (region, baseURL string) {
	text = strings.TrimSpace(text)
	if name := strings.ToLower(text); name == RegionUS || name == RegionEU {
		return name, ""
	}
	if region = RegionOf(text); region != "" {
		return region, ""
	}
	return "", text
}

// hostOf is the host of a URL, or of one without a scheme.
func hostOf(u string) string {
	if parsed, err := url.Parse(u); err == nil && parsed.Host != "" {
		u = parsed.Hostname()
	}
	return strings.ToLower(u)
}

// apiOf is the API's origin of a region, or the text for both origins if region is empty.
func apiOf(region string) string {
	if region == "" {
		return "https://us.posthog.com or https://eu.posthog.com"
	}
	return "https://" + region + ".posthog.com"
}

const modulePath = "github.com/hogapi/hogapi"

// Version is the version of this module in the running program, or "devel".
var Version = sync.OnceValue(func() string {
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

// Library is the name under which this module sends events.
const Library = "hogapi-go"

// apiPart matches the end of a URL that the calls add themselves: "/api" with anything after it,
// and the path of the batch endpoint.
var apiPart = regexp.MustCompile(`(?:/api(?:/(?:projects|environments)(?:/[^/]*)?)?|/batch)$`)

// Origin parses a URL that keys will be sent to, or describes a valid one. It quotes the text only
// if that contains no password or key.
func Origin(text string, insecure bool) (origin *url.URL, want string) {
	u, err := url.Parse(strings.TrimRight(strings.TrimSpace(text), "/"))
	isLoopback := err == nil && (strings.EqualFold(u.Hostname(), "localhost") || net.ParseIP(u.Hostname()).IsLoopback())
	switch {
	case HasKey(text):
		return nil, "a URL without a key"
	case err != nil || u.Host == "" || u.Hostname() == "":
		return nil, `an absolute URL such as "https://posthog.example.com"`
	case u.User != nil:
		return nil, "a URL without user name and password"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, "a URL without query and fragment"
	case u.RawPath != "" || strings.Contains(u.Path+"/", "/../") || strings.Contains(u.Path+"/", "/./"):
		return nil, "a URL whose path needs no escaping and has no dots"
	case u.Scheme == "http" && !insecure && !isLoopback:
		return nil, "https, since keys are sent there; http only on loopback or with WithInsecureHTTP"
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, "https"
	case apiPart.MatchString(u.Path):
		end := apiPart.FindString(u.Path)
		u.Path = strings.TrimSuffix(u.Path, end)
		return nil, fmt.Sprintf("%q without %q: each call adds its path itself (see WithAPIPath)",
			UnlessKey(u.String()), UnlessKey(end))
	}
	return u, ""
}

// wantVisible keeps a key unchanged in headers, JSON and quoted errors, so that it can be found and
// masked there.
const wantVisible = "visible ASCII characters only, without quotes and backslashes"

// KeyKind is one of the two kinds of API keys.
type KeyKind struct {
	want, prefixOfOther, other string
	max                        int // characters
}

// The kinds of API keys.
var (
	PersonalKey = KeyKind{"a personal API key (phx_…)", "phc_", "a project API key: give it to WithProjectAPIKey", 256}
	ProjectKey  = KeyKind{"a project API key (phc_…)", "phx_", "a personal API key: give it to WithPersonalAPIKey", 64}
)

// Problem describes a fault of a key, or returns "".
func (k KeyKind) Problem(key string) string {
	switch {
	case key == "":
		return k.want + ", not an empty text"
	case strings.HasPrefix(key, k.prefixOfOther):
		return k.want + "; this is " + k.other
	case strings.HasPrefix(strings.ToLower(key), "bearer "):
		return k.want + ` without "Bearer", which each call adds itself`
	case strings.Trim(key, VisibleASCII) != "" || strings.ContainsAny(key, `"\`):
		return wantVisible
	case len(key) > k.max:
		return fmt.Sprintf("at most %d characters", k.max)
	}
	return ""
}

// VisibleASCII are the characters of ASCII without blanks and control characters.
const VisibleASCII = alphanumeric + "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// WantProject describes a valid project id.
const WantProject = `the project's id, a number, or "@current"`

// IsProjectID reports whether s is the id of a project.
func IsProjectID(s string) bool {
	return s == "@current" || s != "" && len(s) <= 20 && strings.Trim(s, "0123456789") == ""
}
