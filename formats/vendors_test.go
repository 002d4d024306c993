package formats_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
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
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/formats/heap"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/matomo"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/formats/pendo"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/formats/segment"
	"github.com/hogapi/hogapi/formats/snowplow"
	"github.com/hogapi/hogapi/formats/umami"
	"github.com/hogapi/hogapi/formats/warehouse"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/inside"
)

// The limit is 1.5 times the time of json.Unmarshal into a map; most formats take half of it.
func BenchmarkConvert(b *testing.B) {
	table, err := generic.Format(&generic.Options{Map: []string{
		"event=event_type", "person=device_id", "time=event_time", "$set_once.plan=plan", "price=price|number",
	}, Zone: time.UTC})
	require.NoError(b, err)
	zone, err := time.LoadLocation("America/New_York")
	require.NoError(b, err)
	run := func(name, folder string, format history.Format) {
		records := formattest.Lines(b, filepath.Join(folder, "testdata", "export.jsonl"))
		b.Run(name, func(b *testing.B) { formattest.Benchmark(b, format, records) })
	}
	for name, format := range vendorFormats {
		run(name, name, format())
	}
	for name, format := range rowFormats {
		b.Run(name, func(b *testing.B) { formattest.Benchmark(b, format(), fixtures(b, name)) })
	}
	run("generic", "amplitude", table)
	run("mixpanel in local time", "mixpanel", mixpanel.Format(&mixpanel.Options{Zone: zone}))
}

// vendorFormats are the formats of all vendors, by their folders.
var vendorFormats = map[string]func() history.Format{
	"amplitude":     func() history.Format { return amplitude.Format(nil) },
	"ga4":           func() history.Format { return ga4.Format(nil) },
	"mixpanel":      func() history.Format { return mixpanel.Format(&mixpanel.Options{DevicePrefix: true}) },
	"posthogexport": func() history.Format { return posthogexport.Format(nil) },
	"segment":       func() history.Format { return segment.Format(&segment.Options{GroupType: "company"}) },
}

// rowFormats are the formats of vendors with fixtures of rows, by their folders.
var rowFormats = map[string]func() history.Format{
	"heap":      func() history.Format { return heap.Format(nil) },
	"matomo":    func() history.Format { return matomo.Format(&matomo.Options{Personless: true}) },
	"pendo":     func() history.Format { return pendo.Format(nil) },
	"snowplow":  func() history.Format { return snowplow.Format(&snowplow.Options{HasNames: true}) },
	"umami":     func() history.Format { return umami.Format(nil) },
	"warehouse": func() history.Format { return warehouse.Segment(nil, nil) },
}

// fixtures are the records of a vendor's tests.
func fixtures(t testing.TB, vendor string) (records [][]byte) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(vendor, "testdata", "*.jsonl"))
	require.NoError(t, err)
	for _, path := range paths {
		records = append(records, formattest.Lines(t, path)...)
	}
	require.NotEmpty(t, records, vendor)
	return records
}

// A record makes the same events after any other record.
func TestNothingIsCarriedToTheNextRecord(t *testing.T) {
	t.Parallel()
	all := maps.Clone(vendorFormats)
	maps.Copy(all, rowFormats)
	for name, format := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records := append(fixtures(t, name), []byte(`{}`), []byte(`{"event":"$identify","distinct_id":"b","timestamp":"2024-01-01T00:00:00Z","properties":{}}`))
			said := func(f history.Format, record []byte) string {
				events, err := f.Convert(record)
				text := fmt.Sprint(err, f.ID(record))
				for i := range events {
					reason, isSkipped := events[i].Skipped()
					events[i].Inside(inside.Key{}).Parts = nil // a pointer
					if text += reason; !isSkipped {
						text += fmt.Sprintf("%+v", events[i])
					}
				}
				return text
			}
			for _, record := range records {
				want := said(format(), record)
				for _, before := range records {
					f := format()
					said(f, before)
					require.Equal(t, want, said(f, record), "%s\nafter %s", record, before)
				}
			}
		})
	}
}

// Every vendor's format takes the same three values, and no other.
func TestPersonProperties(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(formats.PersonProperties) history.Format{
		"amplitude": func(p formats.PersonProperties) history.Format {
			return amplitude.Format(&amplitude.Options{PersonProperties: p})
		},
		"ga4": func(p formats.PersonProperties) history.Format { return ga4.Format(&ga4.Options{PersonProperties: p}) },
		"mixpanel": func(p formats.PersonProperties) history.Format {
			return mixpanel.Format(&mixpanel.Options{PersonProperties: p})
		},
		"posthogexport": func(p formats.PersonProperties) history.Format {
			return posthogexport.Format(&posthogexport.Options{PersonProperties: p})
		},
		"segment": func(p formats.PersonProperties) history.Format {
			return segment.Format(&segment.Options{PersonProperties: p})
		},
	} {
		records := fixtures(t, name)
		count := func(p formats.PersonProperties, key string) (n int) {
			for _, record := range records {
				events, _ := of(p).Convert(record)
				for _, ev := range events {
					n += bytes.Count(ev.RawProperties, []byte(`"`+key+`":{`))
				}
			}
			return n
		}
		assert.Positive(t, count(formats.PersonSetOnce, "$set_once"), name)
		assert.Zero(t, count(formats.PersonSetOnce, "$set"), name)
		assert.Positive(t, count(formats.PersonSet, "$set"), name)
		assert.Zero(t, count(formats.PersonNone, "$set")+count(formats.PersonNone, "$set_once"), name)
		_, err := of("Set").Convert([]byte("{}"))
		require.ErrorContains(t, err, name+": options: PersonProperties: want PersonSetOnce", name)
		assert.Contains(t, of(formats.PersonNone).Options, "person=none", name)
	}
}

// visits is a format of records with or without an id of the vendor. The first of their two events
// has it, or both have it.
var visits = history.Format{
	Name: "visits", Layout: history.LayoutJSON,
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
func copies(t *testing.T, server *hogapitest.Server, source history.Source, id, rejects string) (events []string) {
	t.Helper()
	options := &history.Options{ID: id, Rate: hogapi.RateUnlimited, MaxRejectShare: -1}
	if rejects != "" {
		options.Rejects = history.RejectFile(rejects)
	}
	_, err := history.Import(t.Context(), server.Client(t), source, options)
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
	rejected := func(source history.Source) history.Source {
		rejects := filepath.Join(t.TempDir(), "rejects")
		require.Empty(t, copies(t, hogapitest.New(), source, "visits", rejects))
		return history.Rejected(rejects, visits.Convert)
	}
	sorted := func(s history.Source) history.Source { return formats.Sorted(s, t.TempDir()) }
	for name, mapping := range map[string]func(history.Source) history.Source{
		"as it is": func(s history.Source) history.Source { return s },
		"mapped":   func(s history.Source) history.Source { return history.Map(s, twice) },
	} {
		want := copies(t, hogapitest.New(), mapping(history.Files(visits, path)), "visits", "")
		names := map[string]int{}
		for _, ev := range want {
			names[strings.Split(ev, " ")[1]]++
		}
		assert.Equal(t, []int{60, 60}, []int{names["visit"], names["seen"]}, "20 with an id and twice 20 without")
		for way, source := range map[string]history.Source{
			"sorted":                  mapping(sorted(history.Files(visits, path))),
			"rejected":                mapping(rejected(mapping(history.Files(bad, path)))),
			"rejected in their order": mapping(rejected(mapping(sorted(history.Files(bad, path))))),
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
	source := func(path string) history.Source { return history.Files(visits, path) }
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
		got := copies(t, server, history.Rejected(rejects, visits.Convert), "again", "")
		assert.Len(t, got, len(all))
		if ids[0] == ids[1] {
			assert.Equal(t, all, got)
		}
	}
}

// A checkpoint of the release before versions of mappings, of an import that was killed, is refused with that
// reason: nothing is sent, and nothing is saved.
func TestACheckpointOfAnotherMapping(t *testing.T) {
	t.Parallel()
	state := readFile(t, filepath.Join("testdata", "mapping1.checkpoint.json"))
	var text strings.Builder
	for i := range 60 {
		text.WriteString(fmt.Sprintf(`{"event":"visit","properties":{"time":%d,"distinct_id":"user-%d","$insert_id":"%016x","$current_url":"https://shop.example/%d"}}`+"\n", 1709251200+i*60, i%3, i, i))
	}
	path := write(t, "visits.jsonl", text.String())
	second := filepath.Join(filepath.Dir(path), "visits2.jsonl")
	require.NoError(t, os.WriteFile(second, []byte(text.String()), 0o600))
	server := hogapitest.New()
	for name, source := range map[string]history.Source{
		"as it was": history.Files(mixpanel.Format(nil), path),
		"grown":     history.Files(mixpanel.Format(nil), path, second),
	} {
		_, err := history.Import(t.Context(), server.Client(t), source, &history.Options{ID: "hogimport-visits-fe200ca9-d85d", Checkpoint: kept(state)})
		require.ErrorIs(t, err, hogapi.ErrInvalid, name)
		require.ErrorContains(t, err, "begun with the mapping", name)
		require.ErrorContains(t, err, fmt.Sprintf("want the mapping %d of this release", formats.MappingVersion), name)
		require.ErrorContains(t, err, "finish the import with the release that began it", name)
	}
	assert.Zero(t, server.Ledger().Len())
	_, err := history.Import(t.Context(), server.Client(t), history.Files(mixpanel.Format(nil), write(t, "other.jsonl", text.String())),
		&history.Options{ID: "hogimport-visits-fe200ca9-d85d", Checkpoint: kept(state)})
	require.ErrorContains(t, err, "begun with the source", "another file has no such reason")
}

// kept is a checkpoint that cannot be saved.
type kept string

func (k kept) Open(context.Context) ([]byte, error) { return []byte(k), nil }
func (k kept) Save(context.Context, []byte) error   { return os.ErrPermission }
func (k kept) Close() error                         { return nil }
