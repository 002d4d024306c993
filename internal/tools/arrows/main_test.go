package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestArrows(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module example.test/a\n\ngo 1.26.0\n",
		"a.go":      "package a\n\nimport \"os\"\n\nfunc A() { B(); os.Getpid() }\n",
		"b.go":      "package a\n\nfunc B() { c{}.d() }\n",
		"c.go":      "package a\n\ntype c struct{}\n\nfunc (c) d() { b() }\n\nfunc b() { B() }\n",
		"a_test.go": "package a\n\nvar x = A\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	arrows, err := references(dir)
	require.NoError(t, err)
	assert.Equal(t, map[arrow]bool{{"a.go", "b.go"}: true, {"b.go", "c.go"}: true, {"c.go", "b.go"}: true}, arrows)
	assert.Equal(t, []arrow{{"c.go", "b.go"}}, pointBack(arrows))
}
