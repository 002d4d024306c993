package verify

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func id(n byte) uuid.UUID { return uuid.UUID{0: 0xab, 6: 0x40, 8: 0x80, 15: n} }

// A reject file of several imports says which events of this one were not taken.
func TestReadRejects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rejects.jsonl")
	lines := []string{
		fmt.Sprintf(`{"uuid":%q,"$reject":{"reason":"answer_400","import":"mine"}}`, id(1)),
		fmt.Sprintf(`{"uuid":%q,"$reject":{"reason":"unconfirmed","import":"mine"}}`, id(2)),
		fmt.Sprintf(`{"uuid":%q,"$reject":{"reason":"answer_400","import":"another"}}`, id(3)),
		fmt.Sprintf(`{"uuid":%q,"event":"corrected by hand"}`, id(4)),
		`{"$reject":{"reason":"bad_record","raw":"x"}}`, `torn {`, ``,
		fmt.Sprintf("\x00\x00"+`{"uuid":%q,"$reject":{"reason":"too_young"}}`, id(5)),
	}
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
	r, err := readRejects(t.Context(), []string{path}, "mine")
	require.NoError(t, err)
	assert.Equal(t, []uuid.UUID{id(1), id(4), id(5)}, r.refused)
	assert.Equal(t, []uuid.UUID{id(2)}, r.unconfirmed)
	_, err = readRejects(t.Context(), []string{path + ".no"}, "mine")
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.NotContains(t, err.Error(), filepath.Dir(path), "no path of this machine")
}
