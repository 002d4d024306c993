package hogapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/ops"
)

// good returns the options that a client needs, and further options after them.
func good(options ...Option) []Option {
	return append([]Option{WithRegion(RegionUS), WithProject("12345"), WithPersonalAPIKey(testPersonalKey), WithProjectAPIKey(testProjectKey)}, options...)
}

func TestNewClientRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		options []Option
		says    string
	}{
		"nothing":                     {nil, "WithRegion(RegionUS)"},
		"no key":                      {[]Option{WithRegion(RegionUS), WithProject("1")}, "WithPersonalAPIKey for management calls"},
		"both project and none":       {good(WithoutProject()), "either WithProject or WithoutProject"},
		"project key as project":      {good(WithProject(testProjectKey)), "project's id"},
		"project key as personal":     {good(WithPersonalAPIKey(testProjectKey)), "give it to WithProjectAPIKey"},
		"personal key as project key": {good(WithProjectAPIKey(testPersonalKey)), "give it to WithPersonalAPIKey"},
		"nil key source":              {good(WithPersonalKeySource(nil)), "a function, not nil"},
		"http":                        {good(WithRegion(""), WithBaseURL("http://example.com")), "https, since keys are sent there"},
		"user in URL":                 {good(WithRegion(""), WithBaseURL("https://user:s3cret@example.com")), "without user name"},
		"API path with dots":          {good(WithAPIPath("/api/../x")), "API path"},
		"nil HTTP client":             {good(WithHTTPClient(nil)), "a client, not nil"},
		"no time for a try":           {good(WithTryTimeout(0)), `try timeout "0s"`},
		"pace of nothing":             {good(WithPace(0, 1)), "a rate above 0"},
		"pace without burst":          {good(WithPace(1, 0)), "burst of at least 1"},
		"nil clock":                   {good(WithClock(nil)), "a function, not nil"},
		"nameless application":        {good(WithApplication("", "1")), "application"},
		"blank in application":        {good(WithApplication("my app", "1")), "without blanks"},
		"too many tries":              {good(WithRetryPolicy(RetryPolicy{MaxTries: 1000})), "1 to 100"},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := NewClient(tt.options...)
			require.Nil(t, client)
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorAs(t, err, new(*InputError))
			require.ErrorContains(t, err, tt.says)
			for _, secret := range []string{testPersonalKey, testProjectKey, "s3cret", "phx_a", "phc_a"} {
				require.NotContains(t, err.Error(), secret)
			}
		})
	}
}

// All problems are reported together, in one order.
func TestNewClientReportsEverything(t *testing.T) {
	options := []Option{
		WithPersonalAPIKey(testProjectKey), WithProjectAPIKey(testPersonalKey), WithBaseURL("http://example.com"), WithTryTimeout(-1),
		WithPace(-1, -1), WithClock(nil), WithApplication("", ""), WithAPIPath("..."), WithRetryPolicy(RetryPolicy{MaxTries: -1, BaseDelay: -1}),
	}
	_, err := NewClient(options...)
	var all interface{ Unwrap() []error }
	require.ErrorAs(t, err, &all)
	require.Len(t, all.Unwrap(), 11)
	for range 10 {
		_, again := NewClient(options...)
		require.EqualError(t, again, err.Error())
	}
}

func TestOrigins(t *testing.T) {
	client, err := NewClient(WithBaseURL(" http://posthog.lan/hog/ "), WithInsecureHTTP(), WithProject("1"), WithPersonalAPIKey(testPersonalKey))
	require.NoError(t, err)
	require.Equal(t, "http://posthog.lan/hog", client.core.api.String())
	require.Equal(t, "http://posthog.lan/hog", client.core.capture.String())
	client, err = NewClient(WithCaptureURL("https://example.com"), WithProjectAPIKey(testProjectKey))
	require.NoError(t, err, "events only")
	require.Nil(t, client.core.api)
	const name = "hogapi.Client{project: none, api: none, capture: example.com}"
	for _, got := range []string{client.String(), client.LogValue().String(), fmt.Sprintf("%d", client), fmt.Sprintf("%#v", client)} {
		require.Equal(t, name, got)
	}
	text, err := json.Marshal(client)
	require.NoError(t, err)
	require.NotContains(t, string(text), testProjectKey)
	require.ErrorContains(t, get(t.Context(), client), "WithPersonalAPIKey")
}

func TestFromEnv(t *testing.T) {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "POSTHOG_") {
			t.Setenv(name, "")
		}
	}
	all := map[string]string{
		"POSTHOG_PROJECT_ID": " 77 ", "POSTHOG_PERSONAL_API_KEY": "phx_FromEnv", "POSTHOG_PROJECT_API_KEY": "phc_FromEnv", "POSTHOG_REGION": "EU",
	}
	own := []Option{WithRegion(RegionUS), WithProject("12345"), WithPersonalAPIKey(testPersonalKey), WithProjectAPIKey(testProjectKey)}
	for name, tt := range map[string]struct {
		env                            map[string]string
		options                        []Option
		project, personal, key, origin string
		says                           string
	}{
		"everything":             {env: all, options: []Option{FromEnv()}, project: "77", personal: "phx_FromEnv", key: "phc_FromEnv", origin: "eu.posthog.com"},
		"options before win":     {env: all, options: append(own, FromEnv()), project: "12345", personal: testPersonalKey, key: testProjectKey, origin: "us.posthog.com"},
		"options after win":      {env: all, options: append([]Option{FromEnv()}, own...), project: "12345", personal: testPersonalKey, key: testProjectKey, origin: "us.posthog.com"},
		"only when asked":        {env: all, options: nil, says: "WithPersonalAPIKey"},
		"a cloud host":           {env: with(all, "POSTHOG_REGION", "", "POSTHOG_HOST", "https://us.i.posthog.com"), options: []Option{FromEnv()}, project: "77", personal: "phx_FromEnv", key: "phc_FromEnv", origin: "us.posthog.com"},
		"a cloud host's name":    {env: with(all, "POSTHOG_REGION", "", "POSTHOG_HOST", "app.posthog.com"), options: []Option{FromEnv()}, project: "77", personal: "phx_FromEnv", key: "phc_FromEnv", origin: "us.posthog.com"},
		"a region as host":       {env: with(all, "POSTHOG_REGION", "", "POSTHOG_HOST", "Eu"), options: []Option{FromEnv()}, project: "77", personal: "phx_FromEnv", key: "phc_FromEnv", origin: "eu.posthog.com"},
		"no host":                {env: with(all, "POSTHOG_REGION", "", "POSTHOG_HOST", "france"), options: []Option{FromEnv()}, says: `POSTHOG_HOST: want "us", "eu" or an absolute URL`},
		"no region":              {env: with(all, "POSTHOG_REGION", "asia"), options: []Option{FromEnv()}, says: `POSTHOG_REGION "asia": want "us" or "eu"`},
		"no project":             {env: with(all, "POSTHOG_PROJECT_ID", "mine"), options: []Option{FromEnv()}, says: `POSTHOG_PROJECT_ID "mine": want`},
		"another host":           {env: with(all, "POSTHOG_REGION", "", "POSTHOG_HOST", "https://hog.example.com/x"), options: []Option{FromEnv()}, project: "77", personal: "phx_FromEnv", key: "phc_FromEnv", origin: "hog.example.com"},
		"host and its region":    {env: with(all, "POSTHOG_HOST", "https://eu.i.posthog.com"), options: []Option{FromEnv()}, project: "77", personal: "phx_FromEnv", key: "phc_FromEnv", origin: "eu.posthog.com"},
		"host of another region": {env: with(all, "POSTHOG_HOST", "https://us.posthog.com"), options: []Option{FromEnv()}, says: "POSTHOG_HOST: want either POSTHOG_REGION or POSTHOG_HOST: the two contradict each other"},
		"own host and region":    {env: with(all, "POSTHOG_HOST", "https://hog.example.com"), options: []Option{FromEnv()}, says: "contradict"},
		"base URL wins":          {env: with(all, "POSTHOG_HOST", "https://us.posthog.com"), options: []Option{FromEnv(), WithBaseURL("https://own.example.com")}, project: "77", personal: "phx_FromEnv", key: "phc_FromEnv", origin: "own.example.com"},
		"capture URL by option":  {env: with(all, "POSTHOG_REGION", "", "POSTHOG_HOST", "https://hog.example.com"), options: []Option{FromEnv(), WithCaptureURL("https://in.example.com")}, project: "77", personal: "phx_FromEnv", key: "phc_FromEnv", origin: "hog.example.com"},
		"bad key":                {env: with(all, "POSTHOG_PERSONAL_API_KEY", "phc_x"), options: []Option{FromEnv()}, says: "POSTHOG_PERSONAL_API_KEY: want a personal API key (phx_…); this is a project API key: put it into POSTHOG_PROJECT_API_KEY"},
		"bad key, not needed":    {env: with(all, "POSTHOG_PERSONAL_API_KEY", "phc_x"), options: append(own, FromEnv()), project: "12345", personal: testPersonalKey, key: testProjectKey, origin: "us.posthog.com"},
		"without project":        {env: all, options: []Option{FromEnv(), WithoutProject()}, project: "", personal: "phx_FromEnv", key: "phc_FromEnv", origin: "eu.posthog.com"},
	} {
		t.Run(name, func(t *testing.T) {
			for variable, value := range tt.env {
				t.Setenv(variable, value)
			}
			client, err := NewClient(tt.options...)
			if tt.says != "" {
				require.ErrorContains(t, err, tt.says)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.project, client.Project())
			personal, err := client.core.personalKey(t.Context())
			require.NoError(t, err)
			require.Equal(t, tt.personal, personal)
			require.Equal(t, tt.key, client.core.projectKey())
			require.Equal(t, tt.origin, client.core.api.Host)
		})
	}
}

// with is a map with other values.
func with(m map[string]string, pairs ...string) map[string]string {
	changed := maps.Clone(m)
	for i := 0; i < len(pairs); i += 2 {
		changed[pairs[i]] = pairs[i+1]
	}
	return changed
}

// A client for another project shares all but the project.
func TestForProject(t *testing.T) {
	var paths []string
	client := newFakeClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		paths = append(paths, r.URL.Path)
		return answer(r, 200, "{}"), nil
	}))
	other := client.ForProject(" 678 ")
	require.Equal(t, "678", other.Project())
	require.Same(t, client.core, other.core)
	require.NoError(t, get(t.Context(), other))
	require.NoError(t, other.Do(t.Context(), Request{Method: "GET", Path: "/a/b"}, nil))
	require.NoError(t, get(t.Context(), client))
	require.Equal(t, []string{"/api/projects/678/things/", "/api/projects/678/a/b", "/api/projects/12345/things/"}, paths)
	require.NotSame(t, client.Runs, other.Runs)
	require.Same(t, other, other.Runs.client)

	for _, id := range []string{"", "..", "1/2", "a b", testPersonalKey, testProjectKey} {
		err := get(t.Context(), client.ForProject(id))
		input := as[*InputError](t, err)
		require.Equal(t, "project", input.Field)
		require.NotContains(t, err.Error()+client.ForProject(id).String(), "Canary")
	}
	require.Len(t, paths, 3, "nothing was sent")
}

// The client asks a key source at each call, and checks its key.
func TestKeySource(t *testing.T) {
	var sent []string
	var calls atomic.Int64
	next := func() (string, error) { return "", errCut }
	client := newFakeClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.Header.Get("Authorization"))
		return answer(r, 200, "{}"), nil
	}), WithPersonalKeySource(func(context.Context) (string, error) {
		calls.Add(1)
		return next()
	}))
	require.Zero(t, calls.Load(), "not asked before it is needed")

	next = func() (string, error) { return " phx_First ", nil }
	require.NoError(t, get(t.Context(), client))
	next = func() (string, error) { return "phx_Second", nil }
	require.NoError(t, get(t.Context(), client))
	require.Equal(t, []string{"Bearer phx_First", "Bearer phx_Second"}, sent)

	next = func() (string, error) { return "", errCut }
	err := create(t.Context(), client)
	require.ErrorIs(t, err, errCut)
	require.ErrorContains(t, err, "key source")
	require.NotErrorIs(t, err, ErrOutcomeUnknown)
	for _, bad := range []string{"", testProjectKey, "phx_a\r\nX: y"} {
		next = func() (string, error) { return bad, nil }
		err = get(t.Context(), client)
		require.ErrorIs(t, err, ErrInvalid)
		require.NotContains(t, err.Error(), "Canary")
	}
	require.Len(t, sent, 2)
	require.EqualValues(t, 6, calls.Load())
}

func TestCallOptions(t *testing.T) {
	var got *http.Request
	var body string
	client := newFakeClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r
		b, err := io.ReadAll(r.Body)
		body = string(b)
		return answer(r, 200, "{}"), err
	}), WithApplication("app", "1.2"))
	r := endpoint(ops.BatchExportsCreate)
	r.query = url.Values{"limit": {"1"}, "a": {"b"}}
	require.NoError(t, client.call(t.Context(), r, nil,
		WithHeader("x-mine", "1"), WithHeader("X-Mine", "2"), WithHeader("User-Agent", "me"),
		WithQuery(url.Values{"limit": {"2"}}), WithQuery(url.Values{"c": {"d", "e"}}), WithBody(map[string]int{"n": 1})))
	require.Equal(t, []string{"1", "2"}, got.Header["X-Mine"])
	require.Equal(t, "me", got.Header.Get("User-Agent"))
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	require.Equal(t, "application/json", got.Header.Get("Accept"))
	require.Equal(t, "a=b&c=d&c=e&limit=2", got.URL.RawQuery)
	require.Equal(t, `{"n":1}`, body)
	require.Equal(t, url.Values{"limit": {"1"}, "a": {"b"}}, r.query, "what the caller gave is not changed")

	require.NoError(t, client.call(t.Context(), endpoint(ops.BatchExportsCreate), nil, WithBody(struct{}{})))
	require.Equal(t, "app/1.2 hogapi-go/devel", got.Header.Get("User-Agent"))
	require.Equal(t, "Bearer "+testPersonalKey, got.Header.Get("Authorization"))
}

// A bare number in a field of a duration means nanoseconds, and nobody means that.
func TestDurationsNeedAUnit(t *testing.T) {
	_, err := NewClient(WithRegion(RegionUS), WithProject("1"), WithPersonalAPIKey("phx_x"), WithTryTimeout(30), WithRetryPolicy(RetryPolicy{MaxDelay: 5}))
	require.ErrorContains(t, err, `try timeout "30ns": want a unit, such as 48*time.Hour`)
	require.ErrorContains(t, err, `RetryPolicy.MaxDelay "5ns": want a unit`)
	_, err = NewClient(WithRegion(RegionUS), WithProjectAPIKey("phc_x"), WithLogger(nil))
	require.ErrorContains(t, err, "logger: want a logger, not nil")
	client, _ := newTestClient(t, WithProjectAPIKey("phc_x"), WithCaptureURL("https://capture.test"))
	for want, o := range map[string]CaptureOptions{
		"Gate.MinAge":               {Gate: GateOptions{MinAge: 48}},
		"Delivery.GiveUpAfter":      {Delivery: DeliveryOptions{GiveUpAfter: 5}},
		"Delivery.UnreachableAfter": {Delivery: DeliveryOptions{Tuning: Tuning{UnreachableAfter: 5}}},
		"Delivery.Linger":           {Delivery: DeliveryOptions{Tuning: Tuning{Linger: 250}}},
	} {
		_, err := client.NewCapture(&o)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "a unit, such as 48*time.Hour or 48*time.Second")
	}
	_, err = client.Runs.Wait(t.Context(), testExportID, testExportID, &WatchOptions{Interval: 5})
	require.ErrorContains(t, err, `WatchOptions.Interval "5ns": want a unit`)
}

// Figures that mean nearly no limit do not overflow into a small one.
func TestLimitsOfALargeRate(t *testing.T) {
	for _, rate := range []int{20_000, math.MaxInt/2 + 1, math.MaxInt, RateUnlimited} {
		limits, room := CaptureOptions{Rate: rate}.limits()
		require.Equal(t, unpacedInFlight, room.Events, rate)
		require.Equal(t, defaultBatchEvents, limits.BatchItems, rate)
	}
	limits, _ := CaptureOptions{Delivery: DeliveryOptions{GiveUpAfter: -1}}.limits()
	require.Zero(t, limits.GiveUpAfter+limits.UnreachableAfter, "no limit is not a number")
}
