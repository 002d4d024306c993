package reconcile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/internal/configs"
	"github.com/hogapi/hogapi/internal/mask"
)

// Objects says how the objects that exports wrote into a bucket agree with the runs, by names, times and numbers of
// rows alone. It is a fact for the notes of a report, and no comparison: equal numbers can be of other rows.
type Objects struct {
	// Intervals are the intervals whose newest run is completed and says its number of rows, and whose objects were
	// counted. Of Agree, the objects have as many rows as the run says.
	Intervals int `json:"intervals"`
	Agree     int `json:"agree"`
	// Differ says for each other one what differs.
	Differ []string `json:"differ"`
	// Stale are the names of objects of an earlier run: they are older than the newest run of their interval, or not in
	// its manifest. The service leaves them there where a later run has fewer parts, or no rows. They are files of the
	// destination all the same, and their rows are compared.
	Stale []string `json:"stale"`
	// NotCounted are further intervals with objects: the objects are not Parquet, are in several folders, or are
	// refused, or a run does not say its number, is under way, or failed.
	NotCounted int `json:"not_counted"`
}

// objectName is the form of the names that the service gives: the bounds of the interval, the number of the part, if a
// size bounds the parts, and the format. The manifest of an interval lists its parts.
var objectName = regexp.MustCompile(`^(None|` + isoTime + `)-(` + isoTime + `)(-\d+)?(_manifest\.json|\.parquet(\.\w+)?|\.jsonl(\.\w+)?)$`)

const (
	isoTime  = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`
	manifest = "_manifest.json"
)

// bounds are an interval.
type bounds struct{ start, end time.Time }

func (b bounds) String() string {
	if b.start.IsZero() {
		return "up to " + b.end.Format(clock)
	}
	return b.start.Format(clock) + " to " + b.end.Format(clock)
}

// objectsOf are the objects of an interval.
type objectsOf struct {
	names     []string
	manifests []string
}

// CheckObjects checks the objects with these names below fsys against the runs of the exports that write there. Names
// that the service does not give are left out. The function count returns the number of rows of a Parquet file, as
// CountRows of the module formats/parquet does.
func CheckObjects(fsys fs.FS, names []string, count func(fsys fs.FS, name string) (int64, error), exports ...*hogapi.Coverage) *Objects {
	found := map[bounds]*objectsOf{}
	for _, name := range names {
		of, ok := boundsOf(name)
		if !ok {
			continue
		}
		if found[of] == nil {
			found[of] = &objectsOf{}
		}
		if strings.HasSuffix(name, manifest) {
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

func (o *Objects) check(fsys fs.FS, of bounds, runs []hogapi.CoverageRun, objects *objectsOf, count func(fs.FS, string) (int64, error)) {
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
func (o *Objects) current(fsys fs.FS, newest hogapi.CoverageRun, objects *objectsOf) (current []string, err error) {
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
	var m struct {
		Files []string `json:"files"`
	}
	if err := json.Unmarshal(text, &m); err != nil || m.Files == nil {
		return nil, fmt.Errorf("%s is not a manifest", mask.Shown(name))
	}
	return m.Files, nil
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

// boundsOf returns the interval of an object by its name.
func boundsOf(name string) (b bounds, ok bool) {
	match := objectName.FindStringSubmatch(path.Base(name))
	if match == nil {
		return b, false
	}
	var err error
	if match[1] != "None" {
		if b.start, err = time.Parse(time.RFC3339Nano, match[1]); err != nil {
			return b, false
		}
	}
	b.end, err = time.Parse(time.RFC3339Nano, match[2])
	return bounds{b.start.UTC(), b.end.UTC()}, err == nil
}

func (b bounds) compare(other bounds) int {
	return cmp.Or(b.end.Compare(other.end), b.start.Compare(other.start))
}

// runsOf returns the runs of each interval, the newest first. An interval that two exports have is left out: their
// objects cannot be told apart.
func runsOf(exports []*hogapi.Coverage) map[bounds][]hogapi.CoverageRun {
	all := map[bounds][]hogapi.CoverageRun{}
	seen, of := map[uuid.UUID]bool{}, map[bounds]uuid.UUID{}
	for _, c := range exports {
		for _, i := range c.Intervals {
			for _, run := range i.Runs {
				b := bounds{run.Start.UTC(), run.End.UTC()}
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
		slices.SortFunc(runs, func(a, b hogapi.CoverageRun) int { return b.CreatedAt.Compare(a.CreatedAt) })
	}
	return all
}

// NamedObjects returns the names below a prefix of a bucket of the objects that the completed runs of an export have
// written, for a bucket that may not be listed: those that the manifests name, if the export bounds the size of its
// files, else one for each run. A manifest that cannot be read is [ErrCannotTell]. Objects that no such run names are
// not found: the report of a comparison must say so.
func NamedObjects(fsys fs.FS, prefix string, e *hogapi.BatchExport, c *hogapi.Coverage) (names []string, err error) {
	layout, err := layoutOf(e)
	if err != nil {
		return nil, err
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
	runs := runsOf([]*hogapi.Coverage{c})
	for _, of := range slices.SortedFunc(maps.Keys(runs), bounds.compare) {
		isWritten := slices.ContainsFunc(runs[of], func(run hogapi.CoverageRun) bool {
			return run.Status == hogapi.RunStatusCompleted && (run.Records == nil || *run.Records > 0)
		})
		if !isWritten {
			continue
		}
		keys := []string{layout.key(of)}
		if layout.hasParts() { // Azure writes no manifest of a single part
			name, err := below(keys[0])
			if err != nil {
				return nil, err
			}
			keys, err = readManifest(fsys, name)
			if errors.Is(err, fs.ErrNotExist) && e.Destination.Type == destination.TypeAzureBlob {
				keys, err = []string{strings.TrimSuffix(layout.key(of), manifest) + "-0" + layout.extension()}, nil
			}
			if err != nil {
				return nil, fmt.Errorf("%w: the manifest of %v: %w", ErrCannotTell, of, err)
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

// objectLayout is how an export names its objects.
type objectLayout struct {
	Prefix      string
	Format      string `json:"file_format"`
	Compression string
	Size        *int64 `json:"max_file_size_mb"`
	IsLegacy    *bool  `json:"legacy_parquet_extension"`
	model       hogapi.Model
}

func layoutOf(e *hogapi.BatchExport) (l objectLayout, err error) {
	text, _, _ := configs.Encode(e.Destination.Config)
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("%w: the export %s does not say how it names its objects", ErrCannotTell, mask.Shown(e.Name))
	}
	l.model = cmp.Or(e.Model, hogapi.ModelEvents)
	return l, nil
}

// hasParts reports whether an interval has several objects, and a manifest.
func (l objectLayout) hasParts() bool { return l.Size != nil && *l.Size != 0 }

// key is the key of the only object of an interval, or of its manifest.
func (l objectLayout) key(of bounds) string {
	start, end := isoformat(of.start), isoformat(of.end)
	prefix := strings.NewReplacer(
		"{second}", of.end.Format("05"), "{minute}", of.end.Format("04"), "{hour}", of.end.Format("15"), "{day}", of.end.Format("02"),
		"{month}", of.end.Format("01"), "{year}", of.end.Format("2006"), "{data_interval_start}", cmp.Or(start, "START"),
		"{data_interval_end}", end, "{table}", string(l.model),
	).Replace(l.Prefix)
	if strings.ContainsAny(prefix, "{}") {
		prefix = l.Prefix // the service takes one that it cannot read as it is
	}
	name := cmp.Or(start, "None") + "-" + end
	if l.hasParts() {
		name += manifest
	} else {
		name += l.extension()
	}
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	key := prefix + name
	if strings.HasPrefix(key, "/") {
		key = path.Clean(key)[1:]
	}
	return key
}

func (l objectLayout) extension() string {
	packed := map[string]string{"gzip": ".gz", "snappy": ".sz", "brotli": ".br", "zstd": ".zst", "lz4": ".lz4"}[l.Compression]
	if l.Format != "Parquet" {
		return ".jsonl" + packed
	}
	if l.IsLegacy != nil && !*l.IsLegacy {
		return ".parquet"
	}
	return ".parquet" + packed
}

// isoformat writes a time as Python does, and nothing for the beginning of time.
func isoformat(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	layout := "2006-01-02T15:04:05-07:00"
	if at.Nanosecond() != 0 {
		layout = "2006-01-02T15:04:05.000000-07:00"
	}
	return at.UTC().Format(layout)
}
