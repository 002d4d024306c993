// Command tree reads every file of the work tree and names text that must not be committed: marks for work
// left open, paths of one machine, links between documents that lead nowhere, tests and source files that a
// document names and that are not there, and lines and words that are hard to read.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hogapi/hogapi/internal/tools/worktree"
)

// The patterns are written so that they do not match themselves.
var (
	leftOpen    = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX|HA` + `CK)\b`)
	machinePath = regexp.MustCompile(`(?:^|[^A-Za-z0-9_.~{}/*-])(/(?:home|root|Users|work|workspace|tmp/wt)/[A-Za-z.][^\s"'` + "`" + `)]*)`)
	inlineCode  = regexp.MustCompile("`[^`]*`")
	link        = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
)

func main() {
	files, found, err := look(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "tree:", err)
		os.Exit(1)
	}
	for _, f := range found {
		fmt.Println(f)
	}
	fmt.Printf("%d files read, %d problems\n", len(files), len(found))
	if len(found) > 0 || len(files) == 0 {
		os.Exit(1)
	}
}

func look(root string) (files, found []string, err error) {
	if files, err = worktree.Files(root); err != nil {
		return nil, nil, err
	}
	var errs []error
	add := func(problems []string, err error) {
		found, errs = append(found, problems...), append(errs, err)
	}
	for _, f := range files {
		add(inspect(root, f))
	}
	add(missingTests(root, files))
	add(missingFiles(root, files))
	return files, found, errors.Join(errs...)
}

func inspect(root, file string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 || strings.HasSuffix(file, ".sum") {
		return nil, nil
	}
	var found []string
	report := func(line int, what, text string) {
		found = append(found, fmt.Sprintf("%s:%d: %s: %s", file, line, what, text))
	}
	recorded := strings.Contains(file, "testdata/") || strings.HasSuffix(file, ".jsonl") // other people's words
	n, code := 0, false
	for line := range strings.Lines(string(data)) {
		n++
		if m := leftOpen.FindString(line); m != "" && !recorded {
			report(n, "work left open", m)
		}
		if m := machinePath.FindStringSubmatch(line); m != nil {
			report(n, "path of one machine", m[1])
		}
		markdown := strings.HasSuffix(file, ".md")
		if markdown && strings.HasPrefix(line, "```") {
			code = !code
		}
		if !recorded && !strings.HasPrefix(file, "internal/tools/") {
			for _, problem := range english(file, line, code) {
				found = append(found, fmt.Sprintf("%s:%d: %s", file, n, problem))
			}
		}
		if !markdown || code { // f[T](x) is no link
			continue
		}
		for _, m := range link.FindAllStringSubmatch(inlineCode.ReplaceAllString(line, ""), -1) {
			if target := m[1]; !strings.Contains(target, ":") {
				if _, err := os.Stat(filepath.Join(root, filepath.Dir(file), target)); err != nil {
					report(n, "link leads nowhere", target)
				}
			}
		}
	}
	return found, nil
}
