package formats_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/hogapitest"
)

// visits is a format of records with or without an id of the vendor. The first of their two events
// has it, or both have it.
var visits = hogapi.Format{
	Name: "visits", Layout: hogapi.LayoutJSON,
	Convert: func(record []byte) ([]hogapi.Event, error) {
		var v struct {
			ID, Page string
			Both     bool
			At       time.Time
		}
		if err := json.Unmarshal(record, &v); err != nil {
			return nil, err
		}
		page := map[string]any{"page": v.Page}
		events := []hogapi.Event{
			{Name: "visit", DistinctID: "ann", Timestamp: v.At, UUID: visitID(record), Properties: page},
			{Name: "seen", DistinctID: "ann", Timestamp: v.At, Properties: page},
		}
		if v.Both {
			events[1].UUID = events[0].UUID
		}
		return events, nil
	},
	ID: visitID,
}

func visitID(record []byte) uuid.UUID {
	var v struct{ ID string }
	if json.Unmarshal(record, &v) != nil || v.ID == "" {
		return uuid.Nil
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(v.ID))
}

// someVisits are records with and without ids, equal ones, and different ones that share an id.
func someVisits() string {
	var b strings.Builder
	for i := range 20 {
		at := longAgo.Add(time.Duration(i) * time.Minute).Format(time.RFC3339)
		fmt.Fprintf(&b, `{"id":"v%d","page":"/%d","both":%t,"at":%q}`+"\n", i/2, i, i%5 == 0, at)
		line := fmt.Sprintf(`{"page":"/none","at":%q}`+"\n", at)
		b.WriteString(line + line)
	}
	return b.String() + b.String()[:strings.IndexByte(b.String(), '\n')+1]
}

// copies imports a source and returns the different events that were stored: several can have one
// uuid.
func copies(t *testing.T, server *hogapitest.Server, source hogapi.Source, id, rejects string) (events []string) {
	t.Helper()
	options := &hogapi.ImportOptions{ID: id, Rate: hogapi.Unpaced, MaxRejectShare: -1}
	if rejects != "" {
		options.Rejects = hogapi.RejectFile(rejects)
	}
	_, err := server.Client(t).Import(t.Context(), source, options)
	require.NoError(t, err)
	for ev := range server.Ledger().Events() {
		var own struct {
			Page string `json:"page"`
		}
		require.NoError(t, json.Unmarshal(ev.Properties, &own))
		events = append(events, fmt.Sprintln(ev.UUID, ev.Event, ev.DistinctID, ev.Time.UTC(), own.Page))
	}
	slices.Sort(events)
	return slices.Compact(events)
}

// Events of records with a vendor's id, which not all of their events have, are the same whether
// the file is read directly, sorted, mapped or imported again from rejects: no uuid changes, and no
// event is lost where the vendor gives several records one id.
func TestUUIDsOfRecordsWithIDs(t *testing.T) {
	t.Parallel()
	path := write(t, "visits.jsonl", someVisits())
	bad := visits
	bad.Convert = func([]byte) ([]hogapi.Event, error) { return nil, errors.New("not yet") }
	rejected := func(source hogapi.Source) hogapi.Source {
		rejects := filepath.Join(t.TempDir(), "rejects")
		require.Empty(t, copies(t, hogapitest.New(), source, "visits", rejects))
		return hogapi.RejectedRecords(rejects, visits.Convert)
	}
	sorted := func(s hogapi.Source) hogapi.Source { return formats.Sorted(s, t.TempDir()) }
	for name, mapping := range map[string]func(hogapi.Source) hogapi.Source{
		"as it is": func(s hogapi.Source) hogapi.Source { return s },
		"mapped":   func(s hogapi.Source) hogapi.Source { return hogapi.MapSource(s, twice) },
	} {
		want := copies(t, hogapitest.New(), mapping(hogapi.FileSource(visits, path)), "visits", "")
		names := map[string]int{}
		for _, ev := range want {
			names[strings.Split(ev, " ")[1]]++
		}
		assert.Equal(t, []int{60, 60}, []int{names["visit"], names["seen"]}, "20 with an id and twice 20 without")
		for way, source := range map[string]hogapi.Source{
			"sorted":                  mapping(sorted(hogapi.FileSource(visits, path))),
			"rejected":                mapping(rejected(mapping(hogapi.FileSource(bad, path)))),
			"rejected in their order": mapping(rejected(mapping(sorted(hogapi.FileSource(bad, path))))),
		} {
			assert.Equal(t, want, copies(t, hogapitest.New(), source, "visits", ""), "%s, %s", name, way)
		}
	}
}

// A reject file can have the rejects of several imports, of several events of a record, and of
// records that share an id and a place: each is imported again.
func TestRejectsThatLookAlike(t *testing.T) {
	t.Parallel()
	const at = `"at":"2024-05-01T12:00:00Z"`
	first, second := write(t, "visits.jsonl", `{"id":"x","page":"/1",`+at+"}\n"), write(t, "visits.jsonl", `{"id":"x","page":"/2",`+at+"}\n")
	source := func(path string) hogapi.Source { return hogapi.FileSource(visits, path) }
	want := hogapitest.New()
	copies(t, want, source(first), "visits", "")
	all := copies(t, want, source(second), "visits", "")
	require.Len(t, all, 4)
	for _, ids := range [][]string{{"visits", "visits"}, {"visits", "others"}} {
		server, rejects := hogapitest.New(), filepath.Join(t.TempDir(), "rejects")
		server.RejectEvents(func(json.RawMessage) int { return http.StatusBadRequest })
		copies(t, server, source(first), ids[0], rejects)
		require.Empty(t, copies(t, server, source(second), ids[1], rejects))
		server.RejectEvents(nil)
		got := copies(t, server, hogapi.RejectedRecords(rejects, visits.Convert), "again", "")
		assert.Len(t, got, len(all))
		if ids[0] == ids[1] {
			assert.Equal(t, all, got)
		}
	}
}
