package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// patch is one kept way to break the package, and the tests that must notice.
type patch struct {
	Name   string // of the file, without .patch
	File   string
	Breaks string // the promise that is missing once it is applied
	Runs   []run
	Gate   bool
}

// run is one package and the tests of it that are to fail.
type run struct{ Dir, Expr string }

// parse reads the header of a patch: comment lines "# Key: value" before the diff.
func parse(file string) (patch, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return patch{}, err
	}
	p := patch{Name: strings.TrimSuffix(filepath.Base(file), ".patch"), File: file}
	for line := range strings.Lines(string(data)) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !ok {
			break
		}
		key, value, _ := strings.Cut(comment, ":")
		if err := p.set(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return patch{}, fmt.Errorf("%s: %w", file, err)
		}
	}
	if p.Breaks == "" || len(p.Runs) == 0 {
		return patch{}, fmt.Errorf("%s: the header needs a line \"# Breaks: …\" and at least one \"# Run: FOLDER EXPRESSION\"", file)
	}
	return p, nil
}

func (p *patch) set(key, value string) error {
	switch key {
	case "Breaks":
		p.Breaks = value
	case "Run":
		f := strings.Fields(value)
		if len(f) != 2 {
			return errors.New("a Run line is a folder and one expression for go test -run, without blanks")
		}
		p.Runs = append(p.Runs, run{f[0], f[1]})
	case "Gate":
		p.Gate = value == "yes"
	default:
		return fmt.Errorf("unknown header line %q (known: Breaks, Run, Gate)", key)
	}
	return nil
}

// load reads every patch of a folder. One that cannot be read is an error: a patch must never be left out quietly.
func load(dir string) ([]patch, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	patches := make([]patch, 0, len(files))
	var errs []error
	for _, f := range files {
		p, err := parse(f)
		errs = append(errs, err)
		patches = append(patches, p)
	}
	return patches, errors.Join(errs...)
}

// choose keeps the named patches, or the patches for the gate, or all. Where a trap has a patch, all
// fifteen must have one.
func choose(all []patch, names []string, gate bool) ([]patch, error) {
	var chosen []patch
	switch {
	case len(names) > 0:
		for _, name := range names {
			p, ok := byName(all, name)
			if !ok {
				return nil, fmt.Errorf("there is no patch %q", name)
			}
			chosen = append(chosen, p)
		}
	case gate:
		chosen = slices.DeleteFunc(slices.Clone(all), func(p patch) bool { return !p.Gate })
		if len(all) > 0 && len(chosen) == 0 {
			return nil, errors.New("no patch is marked \"# Gate: yes\"")
		}
	default:
		return all, missingTraps(all)
	}
	return chosen, nil
}

func byName(all []patch, name string) (patch, bool) {
	for _, p := range all {
		if strings.EqualFold(p.Name, strings.TrimSuffix(name, ".patch")) {
			return p, true
		}
	}
	return patch{}, false
}

const traps = 15

func missingTraps(all []patch) error {
	var missing []string
	for i := 1; i <= traps; i++ {
		name := fmt.Sprintf("T%02d", i)
		if _, ok := byName(all, name); !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 || len(missing) == traps {
		return nil
	}
	return fmt.Errorf("traps without a patch: %s", strings.Join(missing, " "))
}
