package hogapitest

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/hogapi/hogapi"
)

// TB is the part of [testing.TB] that a server needs.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Client returns a client of the default project with both keys, connected to the server in process. The given
// options override the server's own. At the end of the test, Client closes the server and fails the test for
// the reasons that [Server.Verify] lists.
func (s *Server) Client(t TB, options ...hogapi.Option) *hogapi.Client {
	t.Helper()
	client, err := hogapi.NewClient(append(s.ClientOptions(s.project), options...)...)
	if err != nil {
		t.Fatalf("hogapitest: %v", err)
		return nil
	}
	t.Cleanup(func() {
		s.Verify(t)
		s.Close()
	})
	return client
}

// ClientOptions returns the options of a client for a project of the server, for use outside of tests: the
// origins, both keys and the in-process transport.
func (s *Server) ClientOptions(project string) []hogapi.Option {
	p := s.Project(project)
	return []hogapi.Option{
		hogapi.WithBaseURL(apiOrigin),
		hogapi.WithCaptureURL(captureOrigin),
		hogapi.WithProject(p.id),
		hogapi.WithPersonalAPIKey(s.personalKey),
		hogapi.WithProjectAPIKey(p.key),
		hogapi.WithHTTPClient(&http.Client{Transport: s.Transport()}),
		hogapi.WithClock(s.now),
	}
}

// Verify fails the test if no request met a scripted fault, if a request asked for an endpoint that the fake
// does not have, if a client broke a rule of capture v1 (see [Server.Violations]), or if a key was sent to a
// wrong place. [Server.Client] calls it at the end of the test.
func (s *Server) Verify(t TB) {
	t.Helper()
	for _, f := range s.Unused() {
		t.Errorf("hogapitest: a scripted fault was not met: %s", f)
	}
	for _, r := range s.Unknown() {
		t.Errorf("hogapitest: the fake knows no such endpoint: %s", r)
	}
	for _, b := range s.Violations() {
		if !b.AfterRestart {
			t.Errorf("hogapitest: a duty of capture v1 was not kept: %s", b)
		}
	}
	for _, leak := range s.leaked() {
		t.Errorf("hogapitest: %s", leak)
	}
}

// leaked lists the keys that came where they do not belong: to capture, into a URL, or to more than one host. The socket's own does
// not count, so that a server may be used over both transports.
func (s *Server) leaked() []string {
	socket := s.listener.host()
	s.mu.Lock()
	defer s.mu.Unlock()
	leaks := slices.Clone(s.leaks)
	delete(s.hosts, socket)
	if len(s.hosts) > 1 {
		leaks = append(leaks, "a personal API key was sent to several hosts: "+strings.Join(slices.Sorted(maps.Keys(s.hosts)), ", "))
	}
	return leaks
}
