// Package commits holds real events for the examples to import: see its README for where they come from.
package commits

import (
	_ "embed"
	"os"
	"path/filepath"
)

// Count is how many events there are.
const Count = 11_576

//go:embed commits.jsonl.gz
var packed []byte

// WriteFile writes the events to a file in a folder and returns its path.
func WriteFile(folder string) (string, error) {
	path := filepath.Join(folder, "commits.jsonl.gz")
	return path, os.WriteFile(path, packed, 0o600)
}
