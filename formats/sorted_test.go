package formats_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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

var longAgo = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

// orders is a format that makes up to three events of a record, some with ids and other times.
var orders = hogapi.Format{
	Name: "orders", Layout: hogapi.LayoutJSON,
	Convert: func(record []byte) ([]hogapi.Event, error) {
		var o struct {
			Who, Device, Skip string
			At                time.Time
			Items             int
			ID                uuid.UUID
		}
		if err := json.Unmarshal(record, &o); err != nil {
			return nil, err
		}
		if o.Skip != "" {
			return nil, hogapi.Skip(o.Skip)
		}
		events := []hogapi.Event{{Name: "order", DistinctID: o.Who, AnonymousID: o.Device, Timestamp: o.At, UUID: o.ID, RawProperties: record}}
		for i := range o.Items {
			events = append(events, hogapi.Event{
				Name: fmt.Sprint("item ", i), DistinctID: o.Who, Timestamp: o.At.Add(time.Duration(i*i*37) * time.Second), Set: map[string]any{"n": json.Number("12345678901234567890")},
			})
		}
		return events, nil
	},
}

// someOrders writes n orders in no order of time, some of them equal, bad or skipped.
func someOrders(n int) string {
	random := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	line := ""
	for i := range n {
		switch random.IntN(8) {
		case 0: // as before
		case 1:
			line = fmt.Sprintf(`{"who":"ann","at":"never","n":%d}`, i)
		case 2:
			line = fmt.Sprintf(`{"skip":"test","n":%d}`, i)
		case 3:
			line = fmt.Sprintf(`{"who":"","at":%q,"n":%d}`, longAgo.Format(time.RFC3339), i) // the gate refuses it
		default:
			id := ""
			if random.IntN(2) == 0 {
				id = fmt.Sprintf(`"id":%q,`, uuid.NewSHA1(uuid.NameSpaceURL, []byte(fmt.Sprint(i))))
			}
			at := longAgo.Add(time.Duration(random.IntN(1e6)) * time.Millisecond)
			line = fmt.Sprintf(`{%s"who":"u%d","at":%q,"items":%d,"n":1.50}`, id, random.IntN(5), at.Format(time.RFC3339Nano), random.IntN(3))
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// stored imports a source and returns the events that the service has.
func stored(t *testing.T, source hogapi.Source, rejects string) (events map[uuid.UUID]string, receipt hogapi.Receipt) {
	t.Helper()
	server := hogapitest.New()
	options := &hogapi.ImportOptions{ID: "orders", Rate: hogapi.Unpaced, MaxRejectShare: -1}
	if rejects != "" {
		options.Rejects = hogapi.RejectFile(rejects)
	}
	receipt, err := server.Client(t).Import(t.Context(), source, options)
	require.NoError(t, err)
	require.Empty(t, server.Ledger().Changed())
	events = map[uuid.UUID]string{}
	for ev := range server.Ledger().Events() {
		events[ev.UUID] = fmt.Sprint(ev.Event, " ", ev.DistinctID, " ", ev.Time.UTC(), " ", string(ev.Properties))
	}
	return events, receipt
}

// twice is a mapping that makes two events of one, and leaves some out.
func twice(ev hogapi.Event) ([]hogapi.Event, error) {
	if ev.Name == "item 1" {
		return nil, hogapi.Skip("item 1")
	}
	second := ev
	second.Name = "second " + ev.Name
	return []hogapi.Event{ev, second}, nil
}

// An event has the same uuid and the same content whether its file is read directly, sorted or
// mapped, in any order of these, and nothing is lost.
func TestUUIDsStayTheSame(t *testing.T) {
	t.Parallel()
	path := write(t, "orders.jsonl", someOrders(300))
	file := func() hogapi.Source { return hogapi.FileSource(orders, path) }
	asIs := func(ev hogapi.Event) ([]hogapi.Event, error) { return []hogapi.Event{ev}, nil }
	sorted := func(s hogapi.Source) hogapi.Source { return formats.Sorted(s, t.TempDir()) }
	want, receipt := stored(t, file(), filepath.Join(t.TempDir(), "rejects"))
	require.Greater(t, len(want), 200)
	for name, source := range map[string]hogapi.Source{
		"sorted": sorted(file()), "mapped": hogapi.MapSource(file(), asIs), "mapped, then sorted": sorted(hogapi.MapSource(file(), asIs)),
		"sorted, then mapped": hogapi.MapSource(sorted(file()), asIs), "sorted twice": sorted(sorted(file())), "in a Concat": hogapi.Concat(sorted(hogapi.Concat(file()))),
	} {
		got, other := stored(t, source, filepath.Join(t.TempDir(), "rejects"))
		assert.Equal(t, want, got, name)
		assert.Equal(t, receipt.Rejects, other.Rejects, name)
		assert.Equal(t, receipt.Skips, other.Skips, name)
	}
	want, _ = stored(t, hogapi.MapSource(file(), twice), filepath.Join(t.TempDir(), "rejects"))
	for name, source := range map[string]hogapi.Source{
		"sorted before": hogapi.MapSource(sorted(file()), twice), "sorted after": sorted(hogapi.MapSource(file(), twice)),
	} {
		got, _ := stored(t, source, filepath.Join(t.TempDir(), "rejects"))
		assert.Equal(t, want, got, name)
	}
}

// Rejected records are imported from the reject file with the uuids that they have in their file,
// also if that was sorted.
func TestRejectsOfSortedFiles(t *testing.T) {
	t.Parallel()
	path := write(t, "orders.jsonl", someOrders(300))
	corrected := orders
	corrected.Convert = func(record []byte) ([]hogapi.Event, error) {
		text := strings.Replace(string(record), `"never"`, `"2024-05-03T00:00:00Z"`, 1)
		events, err := orders.Convert([]byte(strings.Replace(text, `"who":""`, `"who":"nobody"`, 1)))
		for i := range events {
			if events[i].RawProperties != nil {
				events[i].RawProperties = nil
			}
		}
		return events, err
	}
	want, _ := stored(t, hogapi.FileSource(corrected, path), "")
	for name, source := range map[string]hogapi.Source{"direct": hogapi.FileSource(orders, path), "sorted": formats.Sorted(hogapi.FileSource(orders, path), t.TempDir())} {
		rejects := filepath.Join(t.TempDir(), "rejects")
		first, _ := stored(t, source, rejects)
		second, _ := stored(t, hogapi.RejectedRecords(rejects, corrected.Convert), "")
		got := map[uuid.UUID]bool{}
		for id := range first {
			got[id] = true
		}
		for id := range second {
			assert.False(t, got[id], "%s: %s was not rejected", name, id)
			got[id] = true
		}
		assert.Len(t, got, len(want), name)
		for id := range got {
			assert.Contains(t, want, id, name)
		}
	}
}

// The events come oldest first, and of equal times in their order; after each position the rest
// comes.
func TestSorted(t *testing.T) {
	t.Parallel()
	path, dir := write(t, "orders.jsonl", someOrders(500)), filepath.Join(t.TempDir(), "new", "folder")
	var progress []formats.SortProgress
	source := formats.Sorted(hogapi.FileSource(orders, path), dir)
	source.OnProgress = func(p formats.SortProgress) { progress = append(progress, p) }
	var all []string
	var places []hogapi.Position
	var last time.Time
	read := func(after hogapi.Position) (found []string) {
		for ev, err := range source.Events(t.Context(), after) {
			require.NoError(t, err)
			if after.IsZero() {
				places = append(places, ev.Position)
			}
			if !ev.Timestamp.IsZero() && after.IsZero() {
				require.False(t, ev.Timestamp.Before(last))
				last = ev.Timestamp
			}
			found = append(found, fmt.Sprint(ev.Name, ev.Timestamp, ev.UUID, ev.Origin))
		}
		return found
	}
	all = read(hogapi.Position{})
	for i := range places {
		if i%7 == 0 {
			require.Equal(t, all[i+1:], append([]string{}, read(places[i])...))
		}
	}
	require.NotEmpty(t, progress)
	assert.EqualValues(t, len(all), progress[len(progress)-1].Read)
	require.NoError(t, os.RemoveAll(dir)) // as one that was damaged
	require.Equal(t, all[4:], read(places[3]), "it is sorted again, and the places are the same")
	other := places[3]
	other.Key += "0"
	for _, err := range source.Events(t.Context(), other) {
		require.ErrorContains(t, err, "bring it back")
	}
	for _, err := range source.Events(t.Context(), hogapi.Position{Key: "x"}) {
		require.ErrorContains(t, err, "no position")
	}
}

// Stopped while it sorts, a source continues, and gives the same events.
func TestSortingContinues(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 60_000 { // of about 90 MB in memory: some runs
		fmt.Fprintf(&b, `{"who":"u","at":%q,"pad":"%01000d"}`+"\n", longAgo.Add(time.Duration(i*7919%60_000)*time.Second).Format(time.RFC3339), i)
	}
	path, dir := write(t, "orders.jsonl", b.String()), t.TempDir()
	reads := 0
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	counted := hogapi.MapSource(hogapi.FileSource(orders, path), func(ev hogapi.Event) ([]hogapi.Event, error) {
		if reads++; reads == 50_000 {
			cancel(stop)
		}
		return []hogapi.Event{ev}, nil
	})
	for _, err := range formats.Sorted(counted, dir).Events(ctx, hogapi.Position{}) {
		require.ErrorIs(t, err, stop)
	}
	n, last := 0, time.Time{}
	for ev, err := range formats.Sorted(counted, dir).Events(t.Context(), hogapi.Position{}) {
		require.NoError(t, err)
		require.True(t, ev.Timestamp.After(last))
		last = ev.Timestamp
		n++
	}
	assert.Equal(t, 60_000, n)
	assert.Less(t, reads, 90_000, "what was sorted before is not read again")
}
