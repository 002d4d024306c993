package examples_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The Go code of a recipe is code of a program here, word for word, and the programs are tested.
func TestCodeIsOfThePrograms(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	require.NoError(t, err)
	var programs strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		programs.Write(text)
	}
	pages, err := filepath.Glob("../docs/recipes/*.md")
	require.NoError(t, err)
	blocks := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range goBlock.FindAllStringSubmatch(string(text), -1) {
			require.Contains(t, programs.String(), block[1], page)
			blocks++
		}
	}
	require.GreaterOrEqual(t, blocks, 2)
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// Links lead to files that exist.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("../docs/recipes/*.md")
	require.NoError(t, err)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			_, err := os.Stat(filepath.Join("../docs/recipes", found[1]))
			require.NoError(t, err, page)
		}
	}
}
