package httptry

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// MaxRedirects is how many redirects are followed in one try.
const MaxRedirects = 3

// OriginOf is scheme, host and port, normalised for comparison.
func OriginOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// followSameOrigin follows only redirects that keep method, body and origin: some servers once answered 307
// for the older prefix.
func followSameOrigin(next *http.Request, via []*http.Request) error {
	status := next.Response.StatusCode
	sameWay := status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
	if sameWay && len(via) <= MaxRedirects && OriginOf(next.URL) == OriginOf(via[0].URL) && next.URL.User == nil {
		next.URL.Host = via[0].URL.Host // for another spelling net/http drops the key
		key := via[0].Header.Get("Authorization")
		next.Header.Set("Authorization", key) //nolint:gosec // the same origin, checked above
		return nil
	}
	return http.ErrUseLastResponse
}

// dropBadLocation removes a Location that is not a URL: http.Client would return an error that quotes it.
func dropBadLocation(resp *http.Response, base *url.URL) {
	if _, err := base.Parse(resp.Header.Get("Location")); err != nil {
		resp.Header.Del("Location")
	}
}
