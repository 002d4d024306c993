package formats_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/hogapitest"
)

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
	for name, source := range map[string]hogapi.Source{
		"as it was": hogapi.FileSource(mixpanel.Format(nil), path),
		"grown":     hogapi.FileSource(mixpanel.Format(nil), path, second),
	} {
		_, err := server.Client(t).Import(t.Context(), source, &hogapi.ImportOptions{ID: "hogimport-visits-fe200ca9-d85d", Checkpoint: kept(state)})
		require.ErrorIs(t, err, hogapi.ErrInvalid, name)
		require.ErrorContains(t, err, "begun with the mapping", name)
		require.ErrorContains(t, err, fmt.Sprintf("want the mapping %d of this release", formats.MappingVersion), name)
		require.ErrorContains(t, err, "Finish the import with the release that began it", name)
	}
	assert.Zero(t, server.Ledger().Len())
	_, err := server.Client(t).Import(t.Context(), hogapi.FileSource(mixpanel.Format(nil), write(t, "other.jsonl", text.String())),
		&hogapi.ImportOptions{ID: "hogimport-visits-fe200ca9-d85d", Checkpoint: kept(state)})
	require.ErrorContains(t, err, "begun with the source", "another file has no such reason")
}

// kept is a checkpoint that cannot be saved.
type kept string

func (k kept) Open(context.Context) ([]byte, error) { return []byte(k), nil }
func (k kept) Save(context.Context, []byte) error   { return os.ErrPermission }
func (k kept) Close() error                         { return nil }
