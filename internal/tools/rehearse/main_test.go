package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var tree = map[string]string{
	"go.mod": "module " + rootModule + "\n\ngo 1.26.0\n", "a.go": "package hogapi\n", "LICENSE": "MIT", "beamer/b.go": "package beamer\n",
	"beam/go.mod": "module " + rootModule + "/beam\n\ngo 1.26.0\n\nrequire " + rootModule + " v0.0.0\n\nreplace " + rootModule + " => ../\n",
	"beam/b.go":   "package beam\n", "beam/deep/go.mod": "module " + rootModule + "/beam/deep\n", "beam/deep/c.go": "package deep\n",
	"x/testdata/m/go.mod": "module m\n",
}

func written(t *testing.T) (string, []string) {
	t.Helper()
	root := t.TempDir()
	var files []string
	for name, text := range tree {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		files = append(files, name)
	}
	return root, files
}

func TestPackHoldsTheModuleAndNoOther(t *testing.T) {
	root, files := written(t)
	modules := modulesOf(files)
	require.Equal(t, []module{{"."}, {"beam"}, {"beam/deep"}}, modules, "a go.mod under testdata is no module of ours")

	tests := map[string][]string{
		".":    {"go.mod", "a.go", "LICENSE", "beamer/b.go", "x/testdata/m/go.mod"},
		"beam": {"go.mod", "b.go", "LICENSE"},
	}
	for dir, want := range tests {
		m := module{dir}
		data, err := pack(root, m, files, modules)
		require.NoError(t, err)
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		var got []string
		for _, f := range z.File {
			got = append(got, f.Name)
		}
		for i, name := range want {
			want[i] = m.path() + "@" + version + "/" + name
		}
		assert.ElementsMatch(t, want, got, dir)
	}
}
