package outgoing

import (
	"strings"
	"testing"

	"github.com/hogapi/hogapi/ops"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSettingsFindTheOrigins(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		Settings
		api, capture string
	}{
		"a region":                 {Settings{Region: RegionEU}, "https://eu.posthog.com", "https://eu.i.posthog.com"},
		"a cloud host":             {Settings{BaseURL: "https://us.posthog.com"}, "https://us.posthog.com", "https://us.i.posthog.com"},
		"a server":                 {Settings{BaseURL: "https://example.com/below/"}, "https://example.com/below", "https://example.com/below"},
		"a cloud host in capitals": {Settings{BaseURL: "https://EU.posthog.com"}, "https://EU.posthog.com", "https://eu.i.posthog.com"},
		"a region and its URL":     {Settings{Region: RegionEU, BaseURL: "https://eu.posthog.com"}, "https://eu.posthog.com", "https://eu.i.posthog.com"},
		"a region, and a capture":  {Settings{Region: RegionUS, CaptureURL: "https://e.example.com"}, "https://us.posthog.com", "https://e.example.com"},
		"a server, and a capture":  {Settings{BaseURL: "https://a.example.com", CaptureURL: "https://b.example.com"}, "https://a.example.com", "https://b.example.com"},
	} {
		tt.Project, tt.HasPersonalKey = "1", true
		api, capture := tt.Check()
		require.Empty(t, tt.Problems, name)
		assert.Equal(t, tt.api, api.String(), name)
		assert.Equal(t, tt.capture, capture.String(), name)
		assert.Equal(t, defaultAPIPath, tt.APIPath, name)
	}
	events := Settings{CaptureURL: "https://example.com", HasProjectKey: true, NoProject: true}
	api, capture := events.Check()
	require.Empty(t, events.Problems)
	assert.Nil(t, api, "for events only")
	assert.NotNil(t, capture)
}

func TestSettingsNameEveryProblem(t *testing.T) {
	t.Parallel()
	s := Settings{ReadsEnv: true, APIPath: "/api/phx_0123456789abcdef", Project: "phc_0123456789abcdef"}
	s.Check()
	fields := map[string]*ops.InputError{}
	for _, p := range s.Problems {
		fields[p.Field] = p
	}
	require.Len(t, fields, 4)
	assert.Contains(t, fields["region"].Want, "in the environment POSTHOG_REGION")
	assert.Contains(t, fields["keys"].Want, "in the environment POSTHOG_PERSONAL_API_KEY")
	for _, field := range []string{"API path", "project"} {
		assert.NotContains(t, fields[field].Value, "0123456789abcdef", "a key is not quoted")
	}
	for _, path := range []string{"/api/../x", "/api?x=y"} {
		s := Settings{APIPath: path, Region: RegionUS, Project: "1", HasPersonalKey: true}
		s.Check()
		require.Len(t, s.Problems, 1, path)
		assert.Equal(t, "API path", s.Problems[0].Field)
	}
	for want, s := range map[string]Settings{
		`"us" or "eu"`:                   {Region: "mars"},
		"contradict":                     {Region: RegionUS, BaseURL: "https://eu.posthog.com"},
		"only takes events":              {BaseURL: "https://us.i.posthog.com"},
		"of the same region":             {Region: RegionUS, CaptureURL: "https://eu.i.posthog.com"},
		"which a personal API key":       {CaptureURL: "https://example.com", HasPersonalKey: true},
		"either WithProject":             {Project: "1", NoProject: true},
		WantProject:                      {Project: "1/2"},
		"WithProject with the project's": {HasPersonalKey: true},
	} {
		s.Check()
		var found strings.Builder
		for _, p := range s.Problems {
			found.WriteString(p.Want + "\n")
		}
		assert.Contains(t, found.String(), want)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	assert.Empty(t, PersonalKey.Problem("phx_a"))
	assert.Empty(t, ProjectKey.Problem("phc_a"))
	for key, want := range map[string]string{"": "not an empty text", "phc_a": "WithProjectAPIKey", `phx_"`: "quotes", "phx_a b": "visible", "phx_a\nb": "visible", strings.Repeat("a", 257): "at most 256"} {
		assert.Contains(t, PersonalKey.Problem(key), want)
	}
	for key, want := range map[string]string{"": "not an empty text", "phx_a": "WithPersonalAPIKey", "phc_ä": "visible", strings.Repeat("a", 65): "at most 64"} {
		assert.Contains(t, ProjectKey.Problem(key), want)
	}
}

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
