package outgoing

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOrigin(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://posthog.example.com/":                   "",
		" https://example.com/below ":                    "",
		"http://localhost:8000":                          "",
		"http://127.0.0.1":                               "",
		"http://[::1]:1":                                 "",
		"http://127.8.9.1":                               "",
		"https://example.com/apis":                       "",
		"https://example.com/api/v2":                     "",
		"https://api.example.com":                        "",
		"https://example.com/my-api":                     "",
		"http://example.com":                             "https, since keys are sent there",
		"http://10.0.0.1":                                "https",
		"http://localhost.example.com":                   "https",
		"https:///x":                                     "an absolute URL",
		"https://:443":                                   "an absolute URL",
		"https://[::1":                                   "an absolute URL",
		"https://example.com?":                           "without query",
		"https://example.com/%2e%2e":                     "needs no escaping",
		"https://example.com/api":                        `"https://example.com" without "/api"`,
		"https://example.com/api/":                       `"https://example.com" without "/api"`,
		"https://example.com/below/api":                  `"https://example.com/below" without "/api"`,
		"https://example.com/api/projects":               `"https://example.com" without "/api/projects"`,
		"https://example.com/api/environments/@current/": `"https://example.com" without "/api/environments/@current"`,
		"ftp://example.com":                              "https",
		"example.com":                                    "an absolute URL",
		"https://":                                       "an absolute URL",
		"https://a:b@example.com":                        "without user name and password",
		"https://example.com/?a":                         "without query",
		"https://example.com/#a":                         "without query and fragment",
		"https://example.com/a/../b":                     "has no dots",
		"https://example.com/a%2fb":                      "needs no escaping",
		"https://example.com/api/projects/1":             `"https://example.com" without "/api/projects/1"`,
		"https://example.com/batch":                      `without "/batch"`,
		"https://phx_0123456789abcdef.test":              "a URL without a key",
	} {
		u, got := Origin(text, false)
		assert.Equal(t, want == "", got == "", "%q: %s", text, got)
		assert.Contains(t, got, want, text)
		assert.Equal(t, want == "", u != nil, text)
	}
	_, want := Origin("http://example.com", true)
	assert.Empty(t, want)
}
