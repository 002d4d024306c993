package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
)

// leftovers returns the files that pull has written of exports that the project has no longer.
func leftovers(folder string, texts map[string][]byte) (paths []string) {
	found, _ := filepath.Glob(filepath.Join(folder, "*.yaml"))
	for _, path := range found {
		text, err := os.ReadFile(path)
		if _, isThere := texts[path]; err == nil && !isThere && bytes.HasPrefix(text, []byte(definitionHead)) {
			paths = append(paths, path)
		}
	}
	return paths
}

// compare says which files differ from the exports of the project, and changes nothing.
func (p *pull) compare(paths []string, texts map[string][]byte, gone []string) error {
	var lines []string
	files := len(gone)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(text, texts[path]) {
			files++
		}
		switch {
		case err != nil:
			lines = append(lines, term.Line(path)+": missing")
		case !bytes.Equal(text, texts[path]):
			lines = append(append(lines, term.Line(path)+": differs"), difference(string(text), string(texts[path]))...)
		}
	}
	for _, path := range gone {
		lines = append(lines, term.Line(path)+": the project has no such export")
	}
	if len(lines) == 0 {
		return nil
	}
	text := plural(files, "file") + " differ"
	if files == 1 {
		text = "1 file differs"
	}
	return &shell.Fault{Code: shell.CodeMissing, Text: text + " from the exports of the project", Lines: lines, Todo: "hogexport pull without --check writes the files; git diff shows what has changed"}
}

// difference returns the lines found only in the file or only in the project.
func difference(file, project string) (lines []string) {
	for _, side := range []struct{ sign, text, other string }{{"-", file, project}, {"+", project, file}} {
		for line := range strings.Lines(side.text) {
			if !slices.Contains(strings.SplitAfter(side.other, "\n"), line) {
				lines = append(lines, "  "+side.sign+" "+term.Line(strings.TrimSuffix(line, "\n")))
			}
		}
	}
	return lines
}

// printOnly says which files would be written and removed.
func (p *pull) printOnly(paths []string, texts map[string][]byte, gone []string) error {
	paths = slices.DeleteFunc(paths, func(path string) bool {
		text, err := os.ReadFile(path)
		return err == nil && bytes.Equal(text, texts[path])
	})
	if !p.prune {
		gone = nil
	}
	if p.JSON {
		return json.NewEncoder(p.Out).Encode(map[string][]string{"write": append([]string{}, paths...), "remove": append([]string{}, gone...)})
	}
	for _, path := range paths {
		fmt.Fprintln(p.Out, "would write "+term.Line(path))
	}
	for _, path := range gone {
		fmt.Fprintln(p.Out, "would remove "+term.Line(path))
	}
	fmt.Fprintln(p.Out, "Nothing was changed.")
	return nil
}
