package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// findState is the state folder of an import that has begun: the one given, that of some files, or the only one there is.
func findState(dir string, files []string) (*state, error) {
	if dir == "" && len(files) > 0 {
		in := input{Files: files}
		paths, err := in.paths()
		if err != nil {
			return nil, err
		}
		if named := filepath.Join(stateRoot, stateName(paths)); isStarted(named) {
			dir = named
		}
	}
	if dir != "" {
		return openState(dir)
	}
	var found []string
	entries, _ := os.ReadDir(stateRoot)
	for _, entry := range entries {
		if dir := filepath.Join(stateRoot, entry.Name()); isStarted(dir) {
			found = append(found, dir)
		}
	}
	switch len(found) {
	case 0:
		return nil, usageError("no import has begun in this folder: there is nothing in "+stateRoot, "give the folder of an import with --state DIR, or begin one with hogimport run")
	case 1:
		return openState(found[0])
	}
	return nil, usageError(fmt.Sprintf("there are %d imports: %s", len(found), strings.Join(found, ", ")), "say which one with --state DIR")
}
