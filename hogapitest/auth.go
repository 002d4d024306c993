package hogapitest

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/ops"
)

// allows reports whether a key's scopes hold one; write holds read, and "*" holds all.
func allows(scopes []string, scope string) bool {
	write := strings.TrimSuffix(scope, ":read") + ":write"
	return slices.ContainsFunc(scopes, func(s string) bool { return s == "*" || s == scope || s == write })
}

const (
	noKey  = "Authentication credentials were not provided."
	badKey = "Personal API key found in request Authorization header is invalid."
)

var bearer = regexp.MustCompile(`^Bearer\s+(\S.+)$`)

// manage serves a call of the management API: key, project, scope, then the endpoint.
func (s *Server) manage(ctx context.Context, v *visit, body []byte) answer {
	if v.route.method == "" && !v.known || !v.route.exists(s.era) {
		return notFound("Endpoint not found.")
	}
	if v.route.method == "" {
		return failure(http.StatusMethodNotAllowed, "invalid_request", "method_not_allowed", fmt.Sprintf("Method %q not allowed.", v.call.Method), "")
	}
	r := &request{url: v.url, header: v.call.Header, query: v.call.Query, params: v.params, body: body, now: s.now()}
	if v.route.root {
		return v.route.serve(s, r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admit(v, r)
	if v.route.handler != nil {
		s.mu.Unlock() // it may call the server
		defer s.mu.Lock()
		return handled(v.route.handler, v.httpRequest(ctx, body))
	}
	for _, e := range r.project.exports {
		e.proceed(r.now)
	}
	a := v.route.serve(s, r)
	if s.emptyBodies && bodiless[v.route.op] && a.status < 300 {
		a.body = nil
		a.header.Del("Content-Type")
	}
	return a
}

// bodiless are the operations that PostHog's API reference gives no body.
var bodiless = map[hogapi.Op]bool{
	ops.AppMetricsGet: true, ops.BatchExportsBackfill: true, ops.BatchExportsLogs: true,
	ops.BatchExportsPause: true, ops.BatchExportsUnpause: true,
	ops.RunsCancel: true, ops.RunsLogs: true, ops.RunsRetry: true,
}

// admit checks key, project and scope, in the service's order.
func (s *Server) admit(v *visit, r *request) {
	sent := bearer.FindStringSubmatch(v.call.Header.Get("Authorization"))
	if sent == nil {
		unauthorized("not_authenticated", noKey)
	}
	scopes, known := s.keys[strings.TrimSpace(sent[1])]
	if !known {
		unauthorized("authentication_failed", badKey)
	}
	id := v.params["project"]
	if id == "@current" {
		id = s.project
	}
	if r.project, known = s.projects[id]; !known {
		refuse(notFound("Project not found."))
	}
	scope, late := strings.CutPrefix(v.route.scope, noScope)
	if late && s.era == E1 && !s.workingLogs {
		refuse(forbidden("This action does not support Personal API Key access"))
	}
	if scope != "" && !allows(scopes, scope) {
		refuse(forbidden(fmt.Sprintf("API key missing required scope '%s'", scope)))
	}
}

func unauthorized(code, detail string) {
	refuse(failure(http.StatusUnauthorized, "authentication_error", code, detail, ""))
}

// checkLeak notes a personal key that came to capture or in a URL, and the hosts that keys were sent to.
func (s *Server) checkLeak(v *visit) {
	where := v.call.Method + " " + v.call.Path
	for key := range s.keys {
		if strings.Contains(v.url.RawQuery, key) || strings.Contains(v.url.Path, key) {
			s.leaks = append(s.leaks, where+": the personal API key is in the URL")
		}
		if !strings.Contains(v.call.Header.Get("Authorization"), key) {
			continue
		}
		s.hosts[v.url.Host] = true
		if v.route.root {
			s.leaks = append(s.leaks, where+": the personal API key was sent to capture")
		}
	}
}
