package faults

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
)

// newServer opens a loopback port for a handler and returns its URL.
func newServer(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections() // some hang in a fault
		s.Close()
	})
	return s.URL
}

// quiet discards the messages of a server about connections that a test breaks.
var quiet = log.New(io.Discard, "", 0)
