package shell

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A printed command can be copied into the shell of the system.
func TestQuoted(t *testing.T) {
	t.Parallel()
	words := map[string]string{
		"export/*.json.gz": "export/*.json.gz", "": "''", "two words": "'two words'", "it's": `'it'\''s'`, `a\b`: `'a\b'`,
		"bell\a": `$'bell\x07'`,
	}
	if runtime.GOOS == "windows" {
		words = map[string]string{`export\*.json.gz`: `export\*.json.gz`, "": `""`, "two words": `"two words"`, "it's": `"it's"`, `a\b`: `a\b`}
	}
	for word, want := range words {
		assert.Equal(t, want, Quoted(word), word)
	}
}
