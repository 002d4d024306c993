package hogapi

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/hogapi/hogapi/internal/mask"
)

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

// apiPart is the end of a URL that belongs to the calls: "/api", with what follows it, and the path
// of the batch endpoint.
var apiPart = regexp.MustCompile(`(?:/api(?:/(?:projects|environments)(?:/[^/]*)?)?|/batch)$`)

// parseOrigin checks a URL that keys will be sent to. It repeats the text only once it is known to
// hold neither a password nor a key.
func (c *config) parseOrigin(field, text string) *url.URL {
	if text == "" {
		return nil
	}
	u, err := url.Parse(strings.TrimRight(strings.TrimSpace(text), "/"))
	switch {
	case mask.HasKey(text):
		c.problem(field, "", "a URL without a key")
	case err != nil || u.Host == "" || u.Hostname() == "":
		c.problem(field, "", `an absolute URL such as "https://posthog.example.com"`)
	case u.User != nil:
		c.problem(field, "", "a URL without user name and password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		c.problem(field, "", "a URL without query and fragment")
	case u.RawPath != "" || strings.Contains(u.Path+"/", "/../") || strings.Contains(u.Path+"/", "/./"):
		c.problem(field, "", "a URL whose path needs no escaping and has no dots")
	case u.Scheme == "http" && !c.insecure && !isLoopback(u.Hostname()):
		c.problem(field, "", "https, since keys are sent there; http only on loopback or with WithInsecureHTTP")
	case u.Scheme != "http" && u.Scheme != "https":
		c.problem(field, "", "https")
	case apiPart.MatchString(u.Path):
		end := apiPart.FindString(u.Path)
		u.Path = strings.TrimSuffix(u.Path, end)
		c.problem(field, "", fmt.Sprintf("%q without %q: each call adds its path itself (see WithAPIPath)",
			mask.UnlessKey(u.String()), mask.UnlessKey(end)))
	default:
		return u
	}
	return nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
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
