package lines_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/lines"
)

// A reject file can be damaged, or edited by hand.
func TestCutOfADamagedPlace(t *testing.T) {
	t.Parallel()
	for _, cut := range []lines.Cut{{Bytes: -1}, {Begin: -1, Bytes: 1}} {
		cut.File = filepath.Join(t.TempDir(), "events.jsonl")
		_, err := cut.Read(t.Context())
		require.ErrorContains(t, err, "the place of the record is damaged")
	}
}
