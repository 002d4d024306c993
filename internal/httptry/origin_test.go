package httptry

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOriginOf(t *testing.T) {
	for text, want := range map[string]string{
		"https://Host/x":    "https://host:443",
		"http://host":       "http://host:80",
		"HTTPS://host:8443": "https://host:8443",
		"http://[::1]:9/":   "http://[::1]:9",
		"http://[::1]/":     "http://[::1]:80",
	} {
		u, err := url.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, OriginOf(u))
	}
}

// redirects answers with a redirect until its requests have reached the place.
type redirects struct {
	status int
	to     string
	seen   []*http.Request
}

func (r *redirects) RoundTrip(req *http.Request) (*http.Response, error) {
	r.seen = append(r.seen, req)
	if req.URL.Path == "/place/" {
		return answers(201, "{}")(req)
	}
	return answers(r.status, "", "Location", r.to)(req)
}

// Only a 307 or 308 within the origin is followed, and with the key.
func TestFollowSameOrigin(t *testing.T) {
	for to, same := range map[string]bool{
		"/place/": true, "https://home.test/place/": true, "HTTPS://HOME.TEST:443/place/": true,
		"http://home.test/place/": false, "https://other.test/place/": false, "https://user:word@home.test/place/": false,
		"https://home.test:x/": false, "": false,
	} {
		for _, status := range []int{300, 301, 302, 303, 307, 308} {
			base, plan := &redirects{status: status, to: to}, Plan{}
			r := planned(t, &plan, home)
			r.Header.Set("Authorization", "Bearer key")
			resp, err := NewClients(&http.Client{Transport: base}, nil).API().Do(r) //nolint:bodyclose // it is in memory
			require.NoError(t, err)
			if !same || status < 307 {
				require.Equal(t, status, resp.StatusCode, to)
				require.Len(t, base.seen, 1)
				continue
			}
			require.Equal(t, 201, resp.StatusCode, to)
			require.Len(t, base.seen, 2)
			require.Equal(t, "home.test", base.seen[1].URL.Host)
			require.Equal(t, "Bearer key", base.seen[1].Header.Get("Authorization"))
		}
	}
}

// A circle of redirects ends. The client for events follows nothing, not even within its origin: its key is in the body.
func TestFollowedRedirectsEnd(t *testing.T) {
	base := &redirects{status: 308, to: "/things/"}
	clients := NewClients(&http.Client{Transport: base}, nil)
	for want, client := range map[int]*http.Client{1 + MaxRedirects: clients.API(), 1: clients.Capture()} {
		base.seen = nil
		resp, err := client.Do(planned(t, new(Plan), home)) //nolint:bodyclose // it is in memory
		require.NoError(t, err)
		require.Equal(t, 308, resp.StatusCode)
		require.Len(t, base.seen, want)
	}
}
