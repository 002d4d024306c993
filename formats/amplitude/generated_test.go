package amplitude_test

import (
	"archive/zip"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/internal/formattest"
)

// notes returns the facts of an event that the test compares.
func notes(ev hogapi.Event) []string {
	notes := formattest.IDsOf(ev, kindOf)
	var p map[string]any
	if err := json.Unmarshal(ev.RawProperties, &p); err != nil {
		return []string{err.Error()}
	}
	for _, name := range []string{"$browser", "$browser_version", "$os", "$os_version", "$device_type"} {
		if value, has := p[name]; has {
			notes = append(notes, fmt.Sprint(name, "=", value))
		}
	}
	if _, has := p["$groups"]; has {
		notes = append(notes, "groups")
	}
	once, _ := p["$set_once"].(map[string]any)
	for name := range once {
		if name == "plan" || strings.Contains(name, "initial_") {
			notes = append(notes, "once "+name)
		}
	}
	return notes
}

// write makes the zip file of an export.
func (g *generator) write(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "export.zip")
	file, err := os.Create(path)
	require.NoError(t, err)
	archive := zip.NewWriter(file)
	for hour, rows := range g.files {
		at := firstUpload.Add(time.Duration(hour) * time.Hour)
		member, err := archive.Create(fmt.Sprintf("636686/636686_%s_%d#%d.json.gz", at.Format(time.DateOnly), at.Hour(), hour%7))
		require.NoError(t, err)
		packed := gzip.NewWriter(member)
		for _, row := range rows {
			_, err := packed.Write(append(row, '\n'))
			require.NoError(t, err)
		}
		require.NoError(t, packed.Close())
	}
	require.NoError(t, archive.Close())
	require.NoError(t, file.Close())
	return path
}

// All totals are exactly those of the generator.
func TestGenerated(t *testing.T) {
	t.Parallel()
	g := generator{Generator: formattest.NewGenerator(1), files: make([][][]byte, hours)}
	for g.rows < formattest.Size() {
		g.row()
	}
	g.Check(t, amplitude.Format(&amplitude.Options{Groups: true}), g.write(t), notes)
}
