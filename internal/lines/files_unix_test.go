//go:build unix

package lines_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/lines"
)

// A file that loses its name while it is read is read to its end, and its lines keep their numbers. On Windows it keeps its name.
func TestFileThatLosesItsName(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(path string) error{
		"renamed":  func(path string) error { return os.Rename(path, path+".done") },
		"removed":  os.Remove,
		"replaced": func(path string) error { return os.Rename(write(t, "another", strings.Repeat("x\n", 500)), path) },
	} {
		path, last := write(t, "e", strings.Repeat("a\n", 100_000)), "" // more than is read at once
		w := collect(new([]string))
		w.Take = func(f *lines.File, l lines.Line) bool {
			if last == "" {
				assert.NoError(t, move(path))
			}
			last = f.Locate(l.Number)
			return true
		}
		require.NoError(t, lines.NewFiles([]string{path}).Read(t.Context(), "e", 2*100, w), name)
		assert.Equal(t, "e:100000", last, name)
	}
}
