package cli

import (
	"context"
	"path/filepath"
)

// findState is the state folder of an import that has begun: the one given, that of some files, or the only one there is.
// With an error about its files it is there too: they can be gone.
func findState(ctx context.Context, dir string, files []string) (*state, error) {
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
	dir, err := onlyState(dir)
	if err != nil {
		return nil, err
	}
	return openState(ctx, dir)
}
