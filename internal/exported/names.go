// Package exported describes the output of batch exports and file downloads: the names of objects, and the columns of
// each destination. Paths of sources are in PostHog/posthog, below products/batch_exports/backend/temporal, read in
// November 2026.
package exported

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"
)

// Interval is the time range of a run. A zero Start is the beginning of time.
type Interval struct{ Start, End time.Time }

// Compare orders intervals by their ends.
func (i Interval) Compare(other Interval) int {
	return cmp.Or(i.End.Compare(other.End), i.Start.Compare(other.Start))
}

// Layout is how an export names its objects: a part of its config. A file download has neither a Kind nor a Prefix.
//
// Sources: destinations/utils.py get_object_key, get_manifest_key, get_key_prefix; destinations/constants.py
// FILE_FORMAT_EXTENSIONS, COMPRESSION_EXTENSIONS.
type Layout struct {
	Kind        string `json:"-"` // of the destination
	Model       string `json:"-"`
	Prefix      string
	Format      string `json:"file_format"`
	Compression string
	MaxMiB      *int64 `json:"max_file_size_mb"`
	IsLegacy    *bool  `json:"legacy_parquet_extension"` // nil: the export is older than this key
}

// LayoutOf reads a config.
func LayoutOf(kind, model string, config []byte) (Layout, error) {
	l := Layout{Kind: kind, Model: model}
	err := json.Unmarshal(config, &l)
	return l, err
}

// HasParts reports whether a size bounds the objects of an interval, which have numbers then. A size of 0 does not.
func (l Layout) HasParts() bool { return l.MaxMiB != nil && *l.MaxMiB != 0 }

// HasManifest reports whether a run that wrote so many objects lists them in a manifest.
//
// Sources: destinations/s3_batch_export.py insert_into_s3_activity_from_stage; destinations/azure_blob_batch_export.py
// AzureBlobConsumer.finalize.
func (l Layout) HasManifest(objects int) bool {
	return l.HasParts() && (l.Kind != "AzureBlob" || objects > 1)
}

// Object returns the key of an object of an interval. It never begins with a slash.
func (l Layout) Object(of Interval, part int) string {
	name := of.String()
	if l.HasParts() {
		name += fmt.Sprintf("-%d", part)
	}
	key := join(l.prefix(of), name+l.Extension())
	if strings.HasPrefix(key, "/") {
		key = path.Clean(key)[1:]
	}
	return key
}

const manifest = "_manifest.json"

// Manifest returns the key of the list of the objects of an interval. It keeps a slash that the prefix begins with.
func (l Layout) Manifest(of Interval) string { return join(l.prefix(of), of.String()+manifest) }

// ManifestOf returns the content of a manifest.
func (l Layout) ManifestOf(keys []string) []byte {
	list := map[string][]string{"files": keys}
	text, _ := json.Marshal(list) //nolint:errchkjson // texts
	if l.Kind == "AzureBlob" {
		text, _ = json.MarshalIndent(list, "", "  ") //nolint:errchkjson // texts
	}
	return text
}

// KeysOf returns the keys that a manifest lists. It returns nil for a file that is not a manifest.
func KeysOf(text []byte) []string {
	var m struct {
		Files []string `json:"files"`
	}
	_ = json.Unmarshal(text, &m)
	return m.Files
}

// Extension returns the end of an object's name. Parquet has its codec inside, so only exports that wrote such names
// before have it in the name too.
func (l Layout) Extension() string {
	packed := map[string]string{"gzip": ".gz", "snappy": ".sz", "brotli": ".br", "zstd": ".zst", "lz4": ".lz4"}[l.Compression]
	switch {
	case l.Format != "Parquet":
		return ".jsonl" + packed
	case l.IsLegacy != nil && !*l.IsLegacy:
		return ".parquet"
	}
	return ".parquet" + packed
}

// prefix is the prefix with the values of its variables. One with an unknown variable or a single brace stays as it is.
func (l Layout) prefix(of Interval) string {
	start, end := isoformat(of.Start), of.End.UTC()
	values := map[string]string{
		"second": end.Format("05"), "minute": end.Format("04"), "hour": end.Format("15"), "day": end.Format("02"), "month": end.Format("01"),
		"year": end.Format("2006"), "data_interval_start": cmp.Or(start, "START"), "data_interval_end": isoformat(end), "table": cmp.Or(l.Model, "events"),
	}
	var b strings.Builder
	for i := 0; i < len(l.Prefix); i++ {
		c, rest := l.Prefix[i], l.Prefix[i+1:]
		switch {
		case c != '{' && c != '}':
			b.WriteByte(c)
		case strings.HasPrefix(rest, string(c)): // a brace that is doubled is one
			b.WriteByte(c)
			i++
		default:
			name, _, isClosed := strings.Cut(rest, "}")
			value, isKnown := values[name]
			if c == '}' || !isClosed || !isKnown {
				return l.Prefix
			}
			b.WriteString(value)
			i += len(name) + 1
		}
	}
	return b.String()
}

func join(prefix, name string) string {
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return prefix + name
}

// String returns the beginning of the names of an interval.
func (i Interval) String() string { return cmp.Or(isoformat(i.Start), "None") + "-" + isoformat(i.End) }

// isoformat writes a time as Python does, and nothing for the beginning of time.
func isoformat(at time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case at.Nanosecond() == 0:
		return at.UTC().Format("2006-01-02T15:04:05-07:00")
	}
	return at.UTC().Format("2006-01-02T15:04:05.000000-07:00")
}

// objectName is the form of the names of objects and manifests.
var objectName = regexp.MustCompile(`^(None|` + isoTime + `)-(` + isoTime + `)(-\d+)?(_manifest\.json|\.parquet(\.\w+)?|\.jsonl(\.\w+)?)$`)

const isoTime = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`

// IntervalOf returns the interval that is in the name of an object or a manifest.
func IntervalOf(key string) (i Interval, isManifest, ok bool) {
	match := objectName.FindStringSubmatch(path.Base(key))
	if match == nil {
		return i, false, false
	}
	var err error
	if match[1] != "None" {
		if i.Start, err = time.Parse(time.RFC3339Nano, match[1]); err != nil {
			return i, false, false
		}
	}
	i.End, err = time.Parse(time.RFC3339Nano, match[2])
	return Interval{i.Start.UTC(), i.End.UTC()}, match[4] == manifest, err == nil
}
