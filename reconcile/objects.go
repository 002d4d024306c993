package reconcile

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/internal/configs"
	"github.com/hogapi/hogapi/internal/exported"
	"github.com/hogapi/hogapi/internal/mask"
)

// Objects says how the objects that exports wrote into a bucket agree with the runs, by names, times and numbers of
// rows alone. It is a fact for the notes of a report, and no comparison: equal numbers can be of other rows.
type Objects struct {
	// Intervals counts the intervals with counted objects and a completed newest run that has a number of rows. In
	// Agree of them, the objects have as many rows as the run.
	Intervals int `json:"intervals"`
	Agree     int `json:"agree"`
	// Differ has a line for each other interval.
	Differ []string `json:"differ"`
	// Stale are the names of objects of an earlier run: they are older than the newest run of their interval, or not in
	// its manifest. The service leaves them there where a later run has fewer parts, or no rows. They are files of the
	// destination all the same, and their rows are compared.
	Stale []string `json:"stale"`
	// NotCounted are further intervals with objects: the objects are not Parquet, are in several folders, or are
	// refused, or a run does not say its number, is under way, or failed.
	NotCounted int `json:"not_counted"`
}

// bounds are an interval, as reports show it.
type bounds struct{ exported.Interval }

func boundsOf(start, end time.Time) bounds {
	return bounds{exported.Interval{Start: start.UTC(), End: end.UTC()}}
}

func (b bounds) compare(other bounds) int { return b.Compare(other.Interval) }

func (b bounds) String() string {
	if b.Start.IsZero() {
		return "up to " + b.End.Format(clock)
	}
	return b.Start.Format(clock) + " to " + b.End.Format(clock)
}

// objectsOf are the objects of an interval.
type objectsOf struct {
	names     []string
	manifests []string
}

// CheckObjects checks the objects with these names below fsys against the runs of the exports that write there. Names
// that the service does not give are left out. The function count returns the number of rows of a Parquet file, as
// CountRows of the module formats/parquet does.
func CheckObjects(fsys fs.FS, names []string, count func(fsys fs.FS, name string) (int64, error), exports ...*coverage.Coverage) *Objects {
	found := map[bounds]*objectsOf{}
	for _, name := range names {
		interval, isManifest, ok := exported.IntervalOf(name)
		if !ok {
			continue
		}
		of := bounds{interval}
		if found[of] == nil {
			found[of] = &objectsOf{}
		}
		if isManifest {
			found[of].manifests = append(found[of].manifests, name)
		} else {
			found[of].names = append(found[of].names, name)
		}
	}
	o := &Objects{Differ: []string{}, Stale: []string{}}
	runs := runsOf(exports)
	for _, of := range slices.SortedFunc(maps.Keys(runs), bounds.compare) {
		objects := found[of]
		if objects == nil {
			objects = &objectsOf{}
		}
		o.check(fsys, of, runs[of], objects, count)
	}
	return o
}

func (o *Objects) check(fsys fs.FS, of bounds, runs []coverage.Run, objects *objectsOf, count func(fs.FS, string) (int64, error)) {
	newest := runs[0]
	isCompleted := newest.Status == hogapi.RunStatusCompleted && newest.Records != nil
	folders := map[string]bool{}
	for _, name := range objects.names {
		folders[path.Dir(name)] = true
	}
	var current []string
	var err error
	if isCompleted && len(folders) == 1 {
		current, err = o.current(fsys, newest, objects)
	}
	isOther := func(name string) bool { return !strings.Contains(path.Base(name), ".parquet") }
	switch {
	case len(folders) == 0 && !isCompleted, isCompleted && err == nil && len(folders) < 2 && len(current) == 0 && *newest.Records == 0:
		return // there is nothing, as it should be
	case !isCompleted, len(folders) > 1, err != nil, slices.ContainsFunc(current, isOther):
		o.NotCounted++
		return
	}
	var rows int64
	for _, name := range current {
		n, err := count(fsys, name)
		if errors.Is(err, fs.ErrPermission) {
			o.NotCounted++
			return
		}
		if err != nil {
			o.Intervals++
			o.Differ = append(o.Differ, fmt.Sprintf("%v: %v", of, err))
			return
		}
		rows += n
	}
	switch o.Intervals++; {
	case rows == *newest.Records:
		o.Agree++
	case len(current) == 0:
		o.Differ = append(o.Differ, fmt.Sprintf("%v: no object, and the run says %s rows", of, number(*newest.Records)))
	default:
		o.Differ = append(o.Differ, fmt.Sprintf("%v: %s rows in the objects, and the run says %s", of, number(rows), number(*newest.Records)))
	}
}

// current returns the objects that the newest run can have written, and keeps the others.
func (o *Objects) current(fsys fs.FS, newest coverage.Run, objects *objectsOf) (current []string, err error) {
	isOlder := func(name string) (bool, error) {
		info, err := fs.Stat(fsys, name)
		if err != nil {
			return false, err
		}
		return info.ModTime().Before(newest.CreatedAt.Truncate(time.Second)), nil // a storage knows whole seconds
	}
	var listed []string // of the manifest
	hasManifest := false
	for _, name := range objects.manifests {
		old, err := isOlder(name)
		if err != nil || old {
			continue // it says nothing about the newest run
		}
		if listed, err = readManifest(fsys, name); err == nil {
			hasManifest = true
		}
	}
	for _, name := range objects.names {
		old, err := isOlder(name)
		if err != nil {
			return nil, err
		}
		isListed := slices.ContainsFunc(listed, func(key string) bool { return path.Base(key) == path.Base(name) })
		if old || hasManifest && !isListed {
			o.Stale = append(o.Stale, name)
			continue
		}
		current = append(current, name)
	}
	return current, nil
}

// readManifest returns the keys of a manifest.
func readManifest(fsys fs.FS, name string) ([]string, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	keys := exported.KeysOf(text)
	if keys == nil {
		return nil, fmt.Errorf("%s is not a manifest", mask.Shown(name))
	}
	return keys, nil
}

// Notes says the result in lines, for [Report].Notes. At most 20 objects of a kind are named.
func (o *Objects) Notes() (notes []string) {
	const most = 20
	if o.Intervals > 0 {
		notes = append(notes, fmt.Sprintf("objects: the rows of %s of %s intervals agree with the runs, by footers alone", number(int64(o.Agree)), number(int64(o.Intervals))))
	}
	if o.NotCounted > 0 {
		notes = append(notes, fmt.Sprintf("objects: %s intervals were not counted: no Parquet, no access, or no number of a completed run", number(int64(o.NotCounted))))
	}
	for i, text := range o.Differ {
		if i == most {
			notes = append(notes, fmt.Sprintf("objects: %d further intervals differ", len(o.Differ)-most))
			break
		}
		notes = append(notes, "objects: "+mask.OneLine(text))
	}
	if n := len(o.Stale); n > 0 {
		list := strings.Join(o.Stale[:min(n, most)], ", ")
		if n > most {
			list += ", …"
		}
		text := "1 object is of an earlier run of its interval, and its rows are compared too"
		if n > 1 {
			text = number(int64(n)) + " objects are of an earlier run of their interval, and their rows are compared too"
		}
		notes = append(notes, "objects: "+text+": "+mask.OneLine(list))
	}
	return notes
}

// runsOf returns the runs of each interval, the newest first. An interval that two exports have is left out: their
// objects cannot be told apart.
func runsOf(exports []*coverage.Coverage) map[bounds][]coverage.Run {
	all := map[bounds][]coverage.Run{}
	seen, of := map[uuid.UUID]bool{}, map[bounds]uuid.UUID{}
	for _, c := range exports {
		for _, i := range c.Intervals {
			for _, run := range i.Runs {
				b := boundsOf(run.Start, run.End)
				if seen[run.ID] {
					continue // it covers several intervals
				}
				seen[run.ID] = true
				if other, ok := of[b]; ok && other != c.ExportID {
					all[b] = nil
					continue
				}
				of[b] = c.ExportID
				all[b] = append(all[b], run)
			}
		}
	}
	for b, runs := range all {
		if len(runs) == 0 {
			delete(all, b)
			continue
		}
		slices.SortFunc(runs, func(a, b coverage.Run) int { return b.CreatedAt.Compare(a.CreatedAt) })
	}
	return all
}

// NamedObjects returns the names of the objects that the completed runs of an export have written below a prefix, for a
// bucket without the right to list. They come from the manifests if the export bounds the size of its files; otherwise
// each run has one. An unreadable manifest is [ErrCannotTell]. Other objects are not found, and the report of a
// comparison must say so.
func NamedObjects(fsys fs.FS, prefix string, e *hogapi.BatchExport, c *coverage.Coverage) (names []string, err error) {
	config, _, _ := configs.Encode(e.Destination.Config)
	layout, err := exported.LayoutOf(string(e.Destination.Type), string(e.Model), config)
	if err != nil {
		return nil, fmt.Errorf("%w: the export %s does not say how it names its objects", ErrCannotTell, mask.Shown(e.Name))
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	below := func(key string) (string, error) {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok {
			return "", fmt.Errorf("%w: the export writes %s, which is not below the prefix", ErrCannotTell, mask.Shown(key))
		}
		return name, nil
	}
	runs := runsOf([]*coverage.Coverage{c})
	for _, of := range slices.SortedFunc(maps.Keys(runs), bounds.compare) {
		isWritten := slices.ContainsFunc(runs[of], func(run coverage.Run) bool {
			return run.Status == hogapi.RunStatusCompleted && (run.Records == nil || *run.Records > 0)
		})
		if !isWritten {
			continue
		}
		keys := []string{layout.Object(of.Interval, 0)}
		if layout.HasParts() {
			key := layout.Manifest(of.Interval)
			name, err := below(strings.TrimLeft(key, "/"))
			if err != nil {
				return nil, err
			}
			listed, err := readManifest(byKey{fsys, name, key}, name)
			isSingle := errors.Is(err, fs.ErrNotExist) && !layout.HasManifest(1)
			if err != nil && !isSingle {
				return nil, fmt.Errorf("%w: the manifest of %v: %w", ErrCannotTell, of, err)
			}
			if !isSingle {
				keys = listed
			}
		}
		for _, key := range keys {
			name, err := below(key)
			if err != nil {
				return nil, err
			}
			names = append(names, name)
		}
	}
	return names, nil
}

// byKey opens an object by its key if the key begins with a slash, which is not a valid name in a file system.
type byKey struct {
	fs.FS

	name, key string
}

func (f byKey) ReadFile(name string) ([]byte, error) {
	if name != f.name || !strings.HasPrefix(f.key, "/") {
		return fs.ReadFile(f.FS, name)
	}
	if keyed, ok := f.FS.(interface {
		ReadKey(key string) ([]byte, error)
	}); ok {
		return keyed.ReadKey(f.key)
	}
	return nil, fmt.Errorf("%s: the key begins with a slash, which only a file system with ReadKey can open", mask.Shown(f.key))
}
