package outgoing

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/hogapi/hogapi/internal/mask"
)

// apiPart matches the end of a URL that the calls add themselves: "/api" with anything after it,
// and the path of the batch endpoint.
var apiPart = regexp.MustCompile(`(?:/api(?:/(?:projects|environments)(?:/[^/]*)?)?|/batch)$`)

// Origin parses a URL that keys will be sent to, or describes a valid one. It quotes the text only
// if that contains no password or key.
func Origin(text string, insecure bool) (origin *url.URL, want string) {
	u, err := url.Parse(strings.TrimRight(strings.TrimSpace(text), "/"))
	switch {
	case mask.HasKey(text):
		return nil, "a URL without a key"
	case err != nil || u.Host == "" || u.Hostname() == "":
		return nil, `an absolute URL such as "https://posthog.example.com"`
	case u.User != nil:
		return nil, "a URL without user name and password"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, "a URL without query and fragment"
	case u.RawPath != "" || strings.Contains(u.Path+"/", "/../") || strings.Contains(u.Path+"/", "/./"):
		return nil, "a URL whose path needs no escaping and has no dots"
	case u.Scheme == "http" && !insecure && !IsLoopback(u.Hostname()):
		return nil, "https, since keys are sent there; http only on loopback or with WithInsecureHTTP"
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, "https"
	case apiPart.MatchString(u.Path):
		end := apiPart.FindString(u.Path)
		u.Path = strings.TrimSuffix(u.Path, end)
		return nil, fmt.Sprintf("%q without %q: each call adds its path itself (see WithAPIPath)",
			mask.UnlessKey(u.String()), mask.UnlessKey(end))
	}
	return u, ""
}

// IsLoopback reports whether a host, by name or address, is this machine.
func IsLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}
