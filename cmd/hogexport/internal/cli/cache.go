package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/internal/durable"
)

// cache keeps the coverage of exports, so that the next command reads only new runs. It holds no keys and no rows.
// A file that cannot be read or written costs calls and nothing else.
type cache struct {
	folder  string
	ageLine time.Duration // 0: the default
}

// cacheOf returns the cache of a project, in a folder or the user's own folder for caches.
func (a *app) cacheOf(folder string) cache {
	if folder == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return cache{ageLine: time.Duration(a.ageLine)}
		}
		folder = filepath.Join(base, "hogexport")
	}
	sum := sha256.Sum256([]byte(strings.ToLower(cmp.Or(a.host, a.Env("POSTHOG_HOST"), a.Env("POSTHOG_REGION"))) + "\x00" + a.project()))
	return cache{filepath.Join(folder, hex.EncodeToString(sum[:8])), time.Duration(a.ageLine)}
}

func (c cache) path(e *hogapi.BatchExport) string {
	return filepath.Join(c.folder, e.ID.String()+".json")
}

// kept is a coverage, and the settings that it depends on.
type kept struct {
	Settings string             `json:"settings"`
	Coverage *coverage.Coverage `json:"coverage"`
}

// settingsOf returns the settings of an export that change its past: with others, a coverage is read again.
func settingsOf(e *hogapi.BatchExport) string {
	return strings.Join([]string{e.LastUpdatedAt.UTC().Format(time.RFC3339Nano), string(e.Interval), string(e.Destination.Type), string(e.Model)}, " ")
}

func (c cache) settings(e *hogapi.BatchExport) string {
	if c.ageLine == 0 {
		return settingsOf(e)
	}
	return settingsOf(e) + " " + c.ageLine.String()
}

func (c cache) load(e *hogapi.BatchExport) *coverage.Coverage {
	text, err := durable.Read(durable.OS{}, c.path(e))
	var k kept
	if err != nil || json.Unmarshal(text, &k) != nil || k.Coverage == nil || k.Coverage.ExportID != e.ID || k.Settings != c.settings(e) {
		return nil
	}
	return k.Coverage
}

func (c cache) save(e *hogapi.BatchExport, found *coverage.Coverage) {
	text, err := json.Marshal(kept{c.settings(e), found})
	if err == nil && c.folder != "" && makeFolder(c.folder) == nil {
		_ = durable.Replace(durable.OS{}, c.path(e), text)
	}
}

// coverage reads the coverage of an export since a time, from the cache as far as it goes.
func (c cache) coverage(ctx context.Context, client *hogapi.Client, e *hogapi.BatchExport, from time.Time) (*coverage.Coverage, error) {
	o := &coverage.Options{From: from, AgeLine: c.ageLine}
	earliest := from
	if e.CreatedAt.After(earliest) {
		earliest = e.CreatedAt
	}
	if old := c.load(e); old != nil && !old.From.After(earliest) {
		o = &coverage.Options{Since: old, AgeLine: c.ageLine}
	}
	found, err := coverage.Of(ctx, client, e.ID, o)
	if err != nil {
		return nil, err
	}
	c.save(e, found)
	return since(found, from), nil
}

// since returns the part of a coverage after a time.
func since(c *coverage.Coverage, from time.Time) *coverage.Coverage {
	if !c.From.Before(from) {
		return c
	}
	part := *c
	part.From, part.Intervals = from, nil
	for _, x := range c.Intervals {
		if x.End.After(from) {
			part.Intervals = append(part.Intervals, x)
		}
	}
	return &part
}

func makeFolder(path string) error {
	const private = 0o700
	return os.MkdirAll(path, private)
}
