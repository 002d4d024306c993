package hogapi_test

import (
	"errors"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// endpointRow is a row of docs/endpoints.md.
type endpointRow struct {
	name, op, request, scope string
	ages                     []hogapitest.Era // none: no personal key on any server
	without                  string
}

func readEndpoints(t *testing.T) map[hogapi.Op]endpointRow {
	t.Helper()
	text, err := os.ReadFile("docs/endpoints.md")
	require.NoError(t, err)
	ages := map[string][]hogapitest.Era{"E1": {hogapitest.E1}, "E4": {hogapitest.E4}, "E1, E4": {hogapitest.E1, hogapitest.E4}, "none": nil}
	rows := map[hogapi.Op]endpointRow{}
	for _, m := range regexp.MustCompile("(?m)^\\| `((?:coverage\\.|history\\.)?[A-Z][^`]*)` \\|(.*)\\|$").FindAllStringSubmatch(string(text), -1) {
		cells := strings.Split(m[2], " | ")
		require.Len(t, cells, 5, m[0])
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		plain := func(s string) string { return strings.Trim(s, "`") }
		require.Contains(t, ages, cells[3], m[0])
		r := endpointRow{name: m[1], op: plain(cells[0]), request: plain(cells[1]), scope: plain(cells[2]), ages: ages[cells[3]], without: cells[4]}
		require.NotContains(t, rows, hogapi.Op(r.op), "one row for each operation")
		rows[hogapi.Op(r.op)] = r
	}
	return rows
}

// The documented table of endpoints equals the package's, and is true on servers of each age.
func TestTableOfEndpoints(t *testing.T) {
	rows, endpoints := readEndpoints(t), hogapi.Endpoints()
	assert.Len(t, rows, len(endpoints), "no row is left over")
	for _, e := range endpoints {
		t.Run(string(e.Op), func(t *testing.T) {
			row, ok := rows[e.Op]
			require.True(t, ok, "it is not in docs/endpoints.md")
			assert.Equal(t, e.Method+" "+e.Path, row.request)
			requireMethod(t, row.name)
			if e.Scope == "" {
				assert.Equal(t, "project API key", row.scope)
				return // capture is on every server
			}
			assert.Equal(t, e.Scope, row.scope)
			assert.Equal(t, len(row.ages) == 2, row.without == "", "what is missing somewhere says what happens there")
			if strings.Contains(row.without, "ErrUnsupported") {
				require.NotEmpty(t, e.Alternative)
				assert.Contains(t, row.without, e.Alternative)
			}
			id := "0190e0a2-0000-7000-8000-0000000000a1"
			if strings.HasPrefix(e.Path, "/integrations/") || strings.HasPrefix(e.Path, "/dashboards/") {
				id = "1"
			}
			for _, era := range []hogapitest.Era{hogapitest.E1, hogapitest.E4} {
				server := hogapitest.New(hogapitest.WithEra(era), hogapitest.WithPersonalKey("phx_HasAllScopes00000"), hogapitest.WithPersonalKey("phx_HasNoScopes00000", "none"))
				err := hogapi.CallEndpoint(t.Context(), server.Client(t), e.Op, id)
				has := slices.Contains(row.ages, era)
				assert.Equal(t, has, !errors.Is(err, hogapi.ErrUnsupported), "%v: %v", era, err)
				if has {
					err = hogapi.CallEndpoint(t.Context(), server.Client(t, hogapi.WithPersonalAPIKey("phx_HasNoScopes00000")), e.Op, id)
					require.ErrorIs(t, err, hogapi.ErrForbidden)
					assert.ErrorContains(t, err, "'"+row.scope+"'", "%v", era)
				} else {
					require.NotErrorIs(t, err, hogapi.ErrNotFound)
				}
			}
		})
	}
}

// requireMethod demands that a name such as "Runs.List" is a method of the client.
func requireMethod(t *testing.T, name string) {
	t.Helper()
	service, method, isNested := strings.Cut(name, ".")
	if service == "history" || service == "coverage" {
		require.Contains(t, map[string]any{"history.Import": history.Import, "history.Verify": history.Verify, "coverage.Of": coverage.Of}, name)
		return
	}
	v := reflect.ValueOf(&hogapi.Client{})
	if !isNested {
		method = service
	} else {
		v = v.Elem().FieldByName(service)
		require.True(t, v.IsValid(), name)
	}
	_, ok := v.Type().MethodByName(method)
	require.True(t, ok, name)
}
