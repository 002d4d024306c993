package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/hogapi/hogapi"
)

// source names what is imported. The receipt keeps it.
func (s *settings) source() string { return strings.Join(s.globs, " ") }

// checkOutputs refuses names for the outputs that would destroy or read something else. It is for all runners.
func (s *settings) checkOutputs(ctx context.Context) error {
	outputs := []string{s.rejects, s.receipt}
	if absolute(s.rejects) == absolute(s.receipt) {
		return fmt.Errorf("-rejects and -receipt are both %s", s.rejects)
	}
	for _, path := range outputs {
		for _, glob := range s.globs {
			if matches, _ := filesystem.Match(absolute(glob), absolute(path)); matches {
				return fmt.Errorf("%s would be read too: %s matches it, so name another file or glob", path, glob)
			}
		}
	}
	for _, path := range outputs {
		used, err := isUsed(ctx, path)
		if err != nil {
			return err
		}
		if used && !s.isOurs(ctx) {
			return fmt.Errorf("%s is of another import or of other files, and would be lost: move it, or name others with -rejects and -receipt", path)
		}
	}
	return nil
}

// isOurs says that the outputs there are from another run of this import of these files. Only such a run replaces them.
func (s *settings) isOurs(ctx context.Context) bool {
	var earlier hogapi.Receipt
	raw, err := readAll(ctx, s.receipt)
	return err == nil && json.Unmarshal(raw, &earlier) == nil && earlier.ID == s.options.ID && earlier.Source == s.source()
}

// isUsed says that there is a file and something in it.
func isUsed(ctx context.Context, path string) (bool, error) {
	if !isRemote(path) {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return false, nil
		case err == nil && info.IsDir():
			return false, fmt.Errorf("%s is a folder", path)
		}
		return err == nil && info.Mode().IsRegular() && info.Size() > 0, err
	}
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return false, err
	}
	defer fs.Close()
	found, err := fs.List(ctx, path)
	if err != nil || len(found) == 0 {
		return false, err
	}
	size, err := fs.Size(ctx, path)
	return size > 0, err
}

// tryOutputs finds out before the first event whether the outputs can be written.
func (s *settings) tryOutputs(ctx context.Context) error {
	for _, path := range []string{s.rejects, s.receipt} {
		if isInPlace(path) {
			continue
		}
		if folder := filepath.Dir(path); !isRemote(path) {
			if info, err := os.Stat(folder); err != nil || !info.IsDir() {
				return fmt.Errorf("there is no folder %s for %s", folder, filepath.Base(path))
			}
		}
		err := writeFile(ctx, partial(path), func(io.Writer) {})
		if err == nil {
			err = remove(ctx, partial(path))
		}
		if err != nil {
			return fmt.Errorf("%s cannot be written: %w", path, err)
		}
	}
	return nil
}

// partial is the name of an output until it is whole.
func partial(path string) string {
	if isInPlace(path) {
		return path
	}
	return path + ".partial"
}

// isInPlace says that a path is no ordinary file, such as /dev/stdout: it is written to, and never replaced.
func isInPlace(path string) bool {
	if isRemote(path) {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && !info.Mode().IsRegular()
}

// place gives outputs that are whole their names. The receipt is the first: it tells whose the rejects are, and so lets the same command
// run again where this ends in between.
func place(ctx context.Context, receipt, rejects string) error {
	for _, path := range []string{receipt, rejects} {
		if isInPlace(path) {
			continue
		}
		fs, err := filesystem.New(ctx, path)
		if err != nil {
			return err
		}
		err = filesystem.Rename(ctx, fs, partial(path), path)
		if err := errors.Join(err, fs.Close()); err != nil {
			return err
		}
	}
	return nil
}

// discard takes away the outputs of a job that has failed, where there are any.
func (s *settings) discard(ctx context.Context) {
	for _, path := range []string{s.receipt, s.rejects} {
		if !isInPlace(path) {
			_ = remove(ctx, partial(path))
		}
	}
}

func remove(ctx context.Context, path string) error {
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return err
	}
	defer fs.Close()
	if remover, can := fs.(filesystem.Remover); can {
		return remover.Remove(ctx, path)
	}
	return nil
}

// writeFile writes a file of any of Beam's filesystems. The writer that it hands out keeps its first error.
func writeFile(ctx context.Context, path string, write func(io.Writer)) error {
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return err
	}
	defer fs.Close()
	file, err := fs.OpenWrite(ctx, path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	write(out)
	return errors.Join(out.Flush(), file.Close())
}

func readAll(ctx context.Context, path string) ([]byte, error) {
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	f, err := fs.OpenRead(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// absolute makes paths comparable.
func absolute(path string) string {
	if isRemote(path) {
		return path
	}
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}
