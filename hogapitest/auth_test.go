package hogapitest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/hogapitest"
)

func TestRefusals(t *testing.T) {
	options := []hogapitest.Option{
		hogapitest.WithPersonalKey(hogapitest.DefaultPersonalKey, "batch_export:read", "dashboard:read"),
		hogapitest.WithPersonalKey("phx_writer", "batch_export:write"),
	}
	export := "/batch_exports/0190e0a2-0000-7000-8000-000000000001"
	tests := []struct {
		name, method, path string
		authorization      string // instead of the default key's
		status             int
		body               string
	}{
		{"no key", "GET", "/batch_exports/", "-", 401, `{"type":"authentication_error","code":"not_authenticated","detail":"Authentication credentials were not provided.","attr":null}`},
		{"wrong key", "GET", "/batch_exports/", "Bearer phx_other", 401, `{"type":"authentication_error","code":"authentication_failed","detail":"Personal API key found in request Authorization header is invalid.","attr":null}`},
		{"scheme in lower case", "GET", "/batch_exports/", "bearer " + hogapitest.DefaultPersonalKey, 401, `{"type":"authentication_error","code":"not_authenticated","detail":"Authentication credentials were not provided.","attr":null}`},
		{"missing scope", "DELETE", export + "/", "", 403, `{"type":"authentication_error","code":"permission_denied","detail":"API key missing required scope 'batch_export:write'","attr":null}`},
		{"write holds read", "GET", export + "/", "Bearer phx_writer", 404, `{"type":"invalid_request","code":"not_found","detail":"Not found.","attr":null}`},
		{"unknown project", "GET", "/api/projects/99/batch_exports/", "", 404, `{"type":"invalid_request","code":"not_found","detail":"Project not found.","attr":null}`},
		{"project that is no number", "GET", "/api/projects/mine/batch_exports/", "", 404, `{"type":"invalid_request","code":"not_found","detail":"Project not found.","attr":null}`},
		{"unknown endpoint, before the key", "GET", "/insights/", "-", 404, `{"type":"invalid_request","code":"not_found","detail":"Endpoint not found.","attr":null}`},
		{"unknown method", "DELETE", "/batch_exports/", "", 405, `{"type":"invalid_request","code":"method_not_allowed","detail":"Method \"DELETE\" not allowed.","attr":null}`},
		{"an id that is no uuid", "GET", "/batch_exports/7/", "", 404, `{"type":"invalid_request","code":"not_found","detail":"Not found.","attr":null}`},
	}
	over(t, options, func(t *testing.T, w *wire) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				path, header := test.path, []string{}
				if path[:5] != "/api/" {
					path = w.prefix + path
				}
				w.key = hogapitest.DefaultPersonalKey
				if test.authorization != "" {
					w.key = ""
				}
				if len(test.authorization) > 1 {
					header = []string{"Authorization", test.authorization}
				}
				a := w.sent(test.method, path, nil, header...)
				assert.Equal(t, test.status, a.StatusCode)
				assert.JSONEq(t, test.body, a.text)
				assert.Equal(t, "application/json", a.Header.Get("Content-Type"))
			})
		}
		assert.Equal(t, []string{"GET " + w.prefix + "/insights/"}, w.Unknown())
	})
}

func TestPrefixesAndSlashes(t *testing.T) {
	over(t, nil, func(_ *testing.T, w *wire) {
		for _, path := range []string{
			"/api/environments/12345/dashboards/", "/api/environments/12345/dashboards", "/api/projects/12345/dashboards/",
			"/api/projects/@current/dashboards",
		} {
			w.want(200, "GET", path, "")
		}
		w.want(404, "GET", "/api/projects/12345/dashboards//", "")
	})
}

func TestOwnProjectAndKeys(t *testing.T) {
	w := inProcess(t, hogapitest.WithProject("9"), hogapitest.WithPersonalKey("phx_mine"), hogapitest.WithProjectKey("phc_mine"))
	w.key = "phx_mine"
	w.want(200, "GET", "/api/projects/9/dashboards/", "")
	w.refused(404, "not_found", "GET", "/api/projects/12345/dashboards/", "")
	w.key = hogapitest.DefaultPersonalKey
	w.refused(401, "authentication_failed", "GET", "/api/projects/9/dashboards/", "")
	assert.Equal(t, "phc_mine", w.Project("9").Key())
	assert.Equal(t, "9", w.Client(t).Project())
}

func TestErasOfTheEndpoints(t *testing.T) {
	body := `{"start_at":"2026-03-04T00:00:00Z","end_at":"2026-03-04T02:00:00Z"}`
	for _, test := range []struct {
		era               hogapitest.Era
		action, resource  int
		retry             int
		exportLogs, runLg int
	}{
		{hogapitest.E1, 200, 404, 200, 403, 403},
		{hogapitest.E4, 404, 201, 201, 200, 500},
	} {
		t.Run(test.era.String(), func(t *testing.T) {
			w, id := withExport(t, hogapitest.WithEra(test.era))
			run := w.project().AddRun(id, hogapitest.Run{Created: now})
			export := "/batch_exports/" + id.String()

			action := w.want(test.action, "POST", export+"/backfill/", body)
			if test.action == 200 {
				assert.Equal(t, id.String()+"-Backfill-2026-03-04T00:00:00Z-2026-03-04T02:00:00Z", action["backfill_id"], "no UUID")
			} else {
				assert.Equal(t, "Endpoint not found.", action["detail"])
			}
			w.want(test.resource, "POST", export+"/backfills/", body)
			retried := w.want(test.retry, "POST", export+"/runs/"+run.String()+"/retry/", "")
			assert.Contains(t, retried["backfill_id"], "-Backfill-")
			logs := w.want(test.exportLogs, "GET", export+"/logs/", "")
			if test.exportLogs == 403 {
				assert.Equal(t, "This action does not support Personal API Key access", logs["detail"])
				w.refused(403, "permission_denied", "GET", "/app_metrics/1/error_details/?error_type=E", "")
			}
			w.want(test.runLg, "GET", export+"/runs/"+run.String()+"/logs/", "")
			assert.Empty(t, w.Unknown())
		})
	}
}

func TestEmptyBodies(t *testing.T) {
	w, id := withExport(t, hogapitest.WithOldService(), hogapitest.WithEmptyBodies(), hogapitest.WithWorkingLogs())
	live := w.project().AddRun(id, hogapitest.Run{Status: "Running", Created: now})
	export := w.prefix + "/batch_exports/" + id.String()
	for _, call := range [][2]string{
		{"GET", w.prefix + "/app_metrics/" + id.String() + "/"}, {"GET", export + "/logs/"}, {"GET", export + "/runs/" + live.String() + "/logs/"}, {"POST", export + "/pause/"}, {"POST", export + "/unpause/"},
		{"POST", export + "/runs/" + live.String() + "/cancel/"}, {"POST", export + "/runs/" + live.String() + "/retry/"},
	} {
		a := w.sent(call[0], call[1], nil)
		assert.Equal(t, 200, a.StatusCode, call)
		assert.Empty(t, a.text, call)
	}
	a := w.sent("GET", export+"/", nil)
	assert.True(t, json.Valid([]byte(a.text)), "the others have one")
}
