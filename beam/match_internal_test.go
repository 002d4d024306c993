package hogbeam

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// names are what the files of globs are called in positions.
func names(t *testing.T, globs ...string) (names []string, err error) {
	t.Helper()
	files, err := MatchFiles(t.Context(), globs...)
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names, err
}

// aHistory is two folders with two files each, and a file beside them. It is the working folder.
func aHistory(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range []string{"history/a/1.jsonl", "history/a/2.jsonl", "history/b/1.jsonl", "history/b/2.jsonl", "history/about.txt"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte("{}\n"), 0o600))
	}
}

// The base is the folder before the first wildcard, however it is written.
func TestNamesAreBelowTheBaseOfTheGlob(t *testing.T) {
	aHistory(t)
	folder, err := os.Getwd()
	require.NoError(t, err)
	for glob, want := range map[string][]string{
		"history/*/*.jsonl":            {"a/1.jsonl", "a/2.jsonl", "b/1.jsonl", "b/2.jsonl"},
		"history//*/1.*":               {"a/1.jsonl", "b/1.jsonl"},
		"./history/[b-z]/*.jsonl":      {"b/1.jsonl", "b/2.jsonl"},
		folder + "/history/b/*.jsonl":  {"1.jsonl", "2.jsonl"},
		"history/../history/b/?.jsonl": {"1.jsonl", "2.jsonl"},
		"history/b/2.jsonl":            {"2.jsonl"},
		"*/b/2.jsonl":                  {"history/b/2.jsonl"},
		"history/*.txt":                {"about.txt"},
		`history/b/\1.jsonl`:           {"1.jsonl"},
		"history/b/nothing.jsonl":      nil,
		"history/b/*.csv":              nil,
	} {
		got, err := names(t, glob)
		if want == nil {
			require.ErrorContains(t, err, "no file matches "+glob)
			continue
		}
		require.NoError(t, err, glob)
		assert.Equal(t, want, got, glob)
	}
}

// What a glob cannot list it does not pass over. A link that leads to itself cannot be listed by anybody, not even by root.
func TestAFolderThatCannotBeListedIsAnError(t *testing.T) {
	aHistory(t)
	require.NoError(t, os.Symlink("c", "history/c"))
	for _, glob := range []string{"history/*/*.jsonl", "history/c/*", "history/c/1.jsonl", "*/c/*.jsonl", "history/[c]"} {
		_, err := names(t, glob)
		require.ErrorContains(t, err, "hogbeam: "+glob+": ")
		require.ErrorContains(t, err, "history/c")
	}
	_, err := names(t, "nowhere/*.jsonl")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestGlobsThatMatchWhatIsNoFileOfTheirOwn(t *testing.T) {
	aHistory(t)
	for _, c := range []struct {
		globs []string
		want  string
	}{
		{[]string{"history/b/*.jsonl", "history/b/1.jsonl"}, "two globs match the same file, history/b/1.jsonl"},
		{[]string{"history/b/*.jsonl", "./history/b/1.jsonl"}, "two globs match the same file"},
		{[]string{"history/a/*.jsonl", "history/b/*.jsonl"}, `both have the name "1.jsonl" in positions: read a folder that is above both`},
		{[]string{"history"}, "history is a folder: name the files in it, such as history/*.jsonl"},
		{[]string{"history/"}, "such as history/*.jsonl"},
		{[]string{"history/*"}, "history/a is a folder"},
	} {
		_, err := names(t, c.globs...)
		require.ErrorContains(t, err, c.want)
	}
}

func TestGlobsAreChecked(t *testing.T) {
	require.NoError(t, CheckGlobs("history/*/*.gz", "gs://history/**/*.gz"))
	for want, globs := range map[string][]string{
		"there is no file to read": nil,
		"name each depth":          {"history/*", "history/**/*.gz"},
	} {
		err := CheckGlobs(globs...)
		require.ErrorContains(t, err, want)
		_, typed := errors.AsType[*hogapi.InputError](err)
		assert.True(t, typed)
		_, s := beam.NewPipelineWithRoot()
		assert.PanicsWithError(t, err.Error(), func() { ReadJSONLines(s, globs...) })
	}
}
