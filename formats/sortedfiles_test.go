package formats_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
)

// readSorted reads a source after a position.
func readSorted(t *testing.T, source hogapi.Source, after hogapi.Position) (events []hogapi.Event, err error) {
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
		for form, with := range map[string]func(path string) hogapi.Source{
			"a format": func(path string) hogapi.Source { return hogapi.FileSource(orders, path) },
			"mapped": func(path string) hogapi.Source {
				return hogapi.MapSource(hogapi.FileSource(orders, path), func(ev hogapi.Event) ([]hogapi.Event, error) { return []hogapi.Event{ev}, nil })
			},
			"of several": func(path string) hogapi.Source { return hogapi.Concat(hogapi.FileSource(orders, path)) },
			"a file system": func(path string) hogapi.Source {
				return hogapi.FileSourceFS(os.DirFS(filepath.Dir(path)), orders, filepath.Base(path))
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
	rest, err := readSorted(t, formats.Sorted(hogapi.JSONLinesFile(filepath.Join(t.TempDir(), "none")), t.TempDir()), hogapi.Position{})
	require.Error(t, err)
	assert.Empty(t, rest)
}

// A source without files is known by its name.
func TestSortedOfNoFiles(t *testing.T) {
	t.Parallel()
	source := hogapi.SourceFunc("numbers", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for i := range 3 {
				ev := hogapi.Event{Name: "e", DistinctID: "a", Timestamp: longAgo, Position: hogapi.Position{Key: "n", Offset: int64(i + 1)}}
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
	dir := t.TempDir()
	for range 2 {
		events, err := readSorted(t, formats.Sorted(source, dir), hogapi.Position{})
		require.NoError(t, err)
		require.Len(t, events, 3)
		events, err = readSorted(t, formats.Sorted(source, dir), events[0].Position)
		require.NoError(t, err)
		require.Len(t, events, 2)
	}
}

// Sources of nil are refused.
func TestFormatsOfNil(t *testing.T) {
	t.Parallel()
	for _, source := range []hogapi.Source{formats.Sorted(nil, t.TempDir()), formats.Links(nil), hogapi.Concat(formats.Links(nil)), formats.Sorted(formats.Links(nil), t.TempDir())} {
		_, err := hogapi.Check(t.Context(), source, &hogapi.ImportOptions{ID: "e"})
		require.ErrorIs(t, err, hogapi.ErrInvalid)
	}
}

// One flipped bit anywhere in the folder never changes an event: the import stops, and says which
// files to remove.
func TestDamagedSortFolders(t *testing.T) {
	t.Parallel()
	path, dir := write(t, "orders.jsonl", someOrders(12)), t.TempDir()
	source := formats.Sorted(hogapi.FileSource(orders, path), dir)
	read := func() (events []string, err error) {
		for ev, err := range source.Events(t.Context(), hogapi.Position{}) {
			if err != nil {
				return events, err
			}
			text, err := ev.AppendBinary(nil)
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
