package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// An import is verified if the receipt that was verified is still its last one.
func TestIsVerified(t *testing.T) {
	t.Parallel()
	s := &state{dir: t.TempDir()}
	isVerified := func(want bool) {
		t.Helper()
		got, err := s.isVerified()
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	isVerified(false)
	require.NoError(t, s.saveReceipt(hogapi.Receipt{}))
	isVerified(false)
	require.NoError(t, s.saveReceipt(hogapi.Receipt{Digest: "1"}))
	isVerified(false)
	require.NoError(t, s.saveVerified(hogapi.Receipt{Digest: "1"}))
	isVerified(true)
	require.NoError(t, s.saveReceipt(hogapi.Receipt{Digest: "2"}))
	isVerified(false)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "verified.json"), []byte(`{"digest":"2`), 0o600))
	_, err := s.isVerified()
	require.Error(t, err)
}

// A state folder has the name of its file, or of the folder of its files, of characters that every file
// system takes.
func TestStateNames(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/x/events.jsonl.gz": "events", "/x/2024-01.csv": "2024-01", "/x/a b/ü.json": "import", "/x/aZ09_.-z.json": "aZ09_.-z", "/x/a:b@c[d`e{f/.json": "import",
		"/x/a:b@c[d`e{f": "a-b-c-d-e-f", "/x/..jsonl": "import", "/x/" + strings.Repeat("n", 61): strings.Repeat("n", 60), "/x/" + strings.Repeat("n", 60): strings.Repeat("n", 60),
	} {
		assert.Equal(t, want, stateName([]string{path}), path)
	}
	assert.Equal(t, "events", stateName([]string{"/x/events/1.json", "/x/events/2.json"}))
}
