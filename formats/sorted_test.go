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
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/wire"
)

var longAgo = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

// orders is a format that makes up to three events of a record, some with ids and other times.
var orders = history.Format{
	Name: "orders", Layout: history.LayoutJSON,
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
			return nil, history.Skip(o.Skip)
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
				id = fmt.Sprintf(`"id":%q,`, uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, i)))
			}
			at := longAgo.Add(time.Duration(random.IntN(1e6)) * time.Millisecond)
			line = fmt.Sprintf(`{%s"who":"u%d","at":%q,"items":%d,"n":1.50}`, id, random.IntN(5), at.Format(time.RFC3339Nano), random.IntN(3))
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

var write = formattest.File

// stored imports a source and returns the events that the service has.
func stored(t *testing.T, source history.Source, rejects string) (events map[uuid.UUID]string, receipt hogapi.Receipt) {
	t.Helper()
	server := hogapitest.New()
	options := &history.Options{ID: "orders", Rate: hogapi.RateUnlimited, MaxRejectShare: -1}
	if rejects != "" {
		options.Rejects = history.RejectFile(rejects)
	}
	receipt, err := history.Import(t.Context(), server.Client(t), source, options)
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
		return nil, history.Skip("item 1")
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
	file := func() history.Source { return history.Files(orders, path) }
	asIs := func(ev hogapi.Event) ([]hogapi.Event, error) { return []hogapi.Event{ev}, nil }
	sorted := func(s history.Source) history.Source { return formats.Sorted(s, t.TempDir()) }
	want, receipt := stored(t, file(), filepath.Join(t.TempDir(), "rejects"))
	require.Greater(t, len(want), 200)
	for name, source := range map[string]history.Source{
		"sorted": sorted(file()), "mapped": history.Map(file(), asIs), "mapped, then sorted": sorted(history.Map(file(), asIs)),
		"sorted, then mapped": history.Map(sorted(file()), asIs), "sorted twice": sorted(sorted(file())), "in a Concat": history.Concat(sorted(history.Concat(file()))),
	} {
		got, other := stored(t, source, filepath.Join(t.TempDir(), "rejects"))
		assert.Equal(t, want, got, name)
		assert.Equal(t, receipt.Rejects, other.Rejects, name)
		assert.Equal(t, receipt.Skips, other.Skips, name)
	}
	want, _ = stored(t, history.Map(file(), twice), filepath.Join(t.TempDir(), "rejects"))
	for name, source := range map[string]history.Source{
		"sorted before": history.Map(sorted(file()), twice), "sorted after": sorted(history.Map(file(), twice)),
	} {
		got, _ := stored(t, source, filepath.Join(t.TempDir(), "rejects"))
		assert.Equal(t, want, got, name)
	}
}

// The events come oldest first, and of equal times in their order; after each position the rest
// comes.
func TestSorted(t *testing.T) {
	t.Parallel()
	path, dir := write(t, "orders.jsonl", someOrders(500)), filepath.Join(t.TempDir(), "new", "folder")
	var progress []formats.SortProgress
	source := formats.Sorted(history.Files(orders, path), dir)
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
	counted := history.Map(history.Files(orders, path), func(ev hogapi.Event) ([]hogapi.Event, error) {
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

// A sort that an earlier version began continues, without reading the same events again.
func TestSortFolderOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	const kept = "testdata/v0.1.0"
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(kept, "sorted"))))
	reads := 0
	counted := history.Map(history.Files(orders, filepath.Join(kept, "orders.jsonl")), func(ev hogapi.Event) ([]hogapi.Event, error) {
		reads++
		return []hogapi.Event{ev}, nil
	})
	again, err := readSorted(t, formats.Sorted(counted, dir), hogapi.Position{})
	require.NoError(t, err)
	rest := reads
	atOnce, err := readSorted(t, formats.Sorted(counted, t.TempDir()), hogapi.Position{})
	require.NoError(t, err)
	assert.Equal(t, atOnce, again)
	assert.Less(t, rest, reads-rest)
}

// readSorted reads a source after a position.
func readSorted(t *testing.T, source history.Source, after hogapi.Position) (events []hogapi.Event, err error) {
	t.Helper()
	for ev, err := range source.Events(t.Context(), after) {
		if err != nil {
			return events, err
		}
		events = append(events, ev)
	}
	return events, nil
}

func order(who string, second int) string {
	return fmt.Sprintf(`{"who":%q,"at":"2024-05-01T12:30:%02dZ"}`+"\n", who, second)
}

// A folder is of the files that were sorted: others of the same names, and changed ones, are
// refused.
func TestSortedFolderIsOfItsFiles(t *testing.T) {
	t.Parallel()
	pad := strings.Repeat("\n", 200<<10)
	first := order("a", 2) + pad + order("b", 1)
	for name, second := range map[string]string{
		"another file":           order("c", 2) + pad + order("d", 1),
		"another one at its end": order("a", 2) + pad + order("d", 1),
		"a grown file":           first + order("c", 3),
		"a shorter file":         order("a", 2),
	} {
		for form, with := range map[string]func(path string) history.Source{
			"a format": func(path string) history.Source { return history.Files(orders, path) },
			"mapped": func(path string) history.Source {
				return history.Map(history.Files(orders, path), func(ev hogapi.Event) ([]hogapi.Event, error) { return []hogapi.Event{ev}, nil })
			},
			"of several": func(path string) history.Source { return history.Concat(history.Files(orders, path)) },
			"a file system": func(path string) history.Source {
				return history.FilesFS(os.DirFS(filepath.Dir(path)), orders, filepath.Base(path))
			},
		} {
			dir := filepath.Join(t.TempDir(), "work")
			events, err := readSorted(t, formats.Sorted(with(write(t, "ev.jsonl", first)), dir), hogapi.Position{})
			require.NoError(t, err)
			require.Len(t, events, 2)
			events, err = readSorted(t, formats.Sorted(with(write(t, "ev.jsonl", first)), dir), hogapi.Position{})
			require.NoError(t, err, "the same file elsewhere")
			require.Len(t, events, 2)
			other := formats.Sorted(with(write(t, "ev.jsonl", second)), dir)
			_, err = readSorted(t, other, hogapi.Position{})
			require.ErrorIs(t, err, hogapi.ErrInvalid, "%s, %s", name, form)
			require.ErrorContains(t, err, "ev.jsonl")
			require.ErrorContains(t, err, "Sort into another folder")

			// After the folder is removed, a place in its old content is refused.
			require.NoError(t, os.RemoveAll(dir))
			_, err = readSorted(t, other, hogapi.Position{})
			require.NoError(t, err)
			_, err = readSorted(t, other, events[0].Position)
			require.ErrorContains(t, err, "with another checkpoint from the start")
		}
	}
	rest, err := readSorted(t, formats.Sorted(history.JSONLines(filepath.Join(t.TempDir(), "none")), t.TempDir()), hogapi.Position{})
	require.Error(t, err)
	assert.Empty(t, rest)
}

// Sources of nil are refused.
func TestFormatsOfNil(t *testing.T) {
	t.Parallel()
	for _, source := range []history.Source{formats.Sorted(nil, t.TempDir()), formats.Links(nil), history.Concat(formats.Links(nil)), formats.Sorted(formats.Links(nil), t.TempDir())} {
		_, err := history.Check(t.Context(), source, &history.Options{ID: "e"})
		require.ErrorIs(t, err, hogapi.ErrInvalid)
	}
}

// One flipped bit anywhere in the folder never changes an event: the import stops, and says which
// files to remove.
func TestDamagedSortFolders(t *testing.T) {
	t.Parallel()
	path, dir := write(t, "orders.jsonl", someOrders(12)), t.TempDir()
	source := formats.Sorted(history.Files(orders, path), dir)
	read := func() (events []string, err error) {
		for ev, err := range source.Events(t.Context(), hogapi.Position{}) {
			if err != nil {
				return events, err
			}
			text, err := wire.AppendEvent(nil, &ev)
			require.NoError(t, err)
			events = append(events, string(text))
		}
		return events, nil
	}
	want, err := read()
	require.NoError(t, err)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	stopped := 0
	for _, f := range files {
		name := filepath.Join(dir, f.Name())
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		for i := 0; i < len(content); i += 3 {
			content[i] ^= 1 << (i % 8)
			require.NoError(t, os.WriteFile(name, content, 0o600))
			content[i] ^= 1 << (i % 8)
			got, err := read()
			require.Equal(t, want[:len(got)], append([]string{}, got...), "byte %d of %s", i, f.Name())
			if err != nil {
				stopped++
				require.ErrorContains(t, err, dir)
				require.ErrorContains(t, err, "remove", "byte %d of %s", i, f.Name())
			} else {
				require.Len(t, got, len(want), "byte %d of %s", i, f.Name())
			}
		}
		require.NoError(t, os.WriteFile(name, content, 0o600))
	}
	assert.Positive(t, stopped)
}
