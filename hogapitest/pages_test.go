package hogapitest_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
)

// pathOf is the path and query of a link.
func pathOf(t *testing.T, link any) string {
	t.Helper()
	u, err := url.Parse(link.(string))
	require.NoError(t, err)
	return u.RequestURI()
}

func TestOffsetPages(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		for i := range 250 {
			w.project().AddDashboard(hogapitest.Dashboard{Name: fmt.Sprintf("%03d", i)})
		}
		var names []any
		path, pages := w.prefix+"/dashboards/", 0
		for next := any(path); next != nil; pages++ {
			if pages > 0 {
				assert.True(t, strings.HasPrefix(next.(string), w.origin+"/api/projects/"), "absolute, under the newer prefix: %s", next)
				path = pathOf(t, next)
			}
			page := w.get("%s", path)
			assert.Equal(t, 250.0, page["count"])
			names = append(names, pluck(results(page), "name")...)
			next = page["next"]
		}
		assert.Equal(t, 3, pages)
		require.Len(t, names, 250)
		assert.Equal(t, "249", names[249])

		for query, want := range map[string]int{"limit=7": 7, "limit=0": 100, "limit=-1": 100, "limit=x": 100, "limit=1000": 250, "offset=240": 10, "offset=-1": 100, "offset=300": 0} {
			assert.Len(t, results(w.get("/dashboards/?%s", query)), want, query)
		}
	})
}

func TestCursorPages(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		p := w.project()
		export := p.AddExport(hogapitest.Export{})
		for i := range 250 {
			p.AddRun(export, hogapitest.Run{Created: now.Add(-time.Duration(i/2) * time.Minute)}) // pairs of one moment
		}
		seen := map[any]bool{}
		var sizes []int
		path := fmt.Sprintf("%s/batch_exports/%s/runs/?limit=7", w.prefix, export)
		var page map[string]any
		for {
			page = w.get("%s", path)
			require.NotContains(t, page, "count")
			for _, id := range pluck(results(page), "id") {
				seen[id] = true
			}
			sizes = append(sizes, len(results(page)))
			if page["next"] == nil {
				break
			}
			p.AddRun(export, hogapitest.Run{}) // new rows move nothing
			path = pathOf(t, page["next"])
		}
		assert.Equal(t, []int{100, 100, 50}, sizes)
		assert.Len(t, seen, 250)
		assert.Equal(t, "Invalid cursor", w.refused(404, "not_found", "GET", "/batch_exports/"+export.String()+"/runs/?cursor=%21", ""))
	})
}

func TestLinksOfOlderEras(t *testing.T) {
	w := inProcess(t, hogapitest.WithEra(hogapitest.E2))
	w.prefix = "/api/environments/" + hogapitest.DefaultProject
	export := w.project().AddExport(hogapitest.Export{})
	for range 301 {
		w.project().AddRun(export, hogapitest.Run{})
	}
	first := w.get("/batch_exports/%s/runs/", export)
	assert.Contains(t, first["next"], "/api/environments/", "as asked for, before the newest era")
}
