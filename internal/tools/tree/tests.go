package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	testDefined = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)
	testNamed   = regexp.MustCompile("`(?:[a-z/]+: )?((?:Test|Fuzz|Benchmark)[A-Z]\\w*)(…?)`")
)

// missingTests names the tests that documents promise and no file has. A name that ends with … is a beginning.
func missingTests(root string, files []string) ([]string, error) {
	var tests strings.Builder
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		for _, m := range testDefined.FindAllSubmatch(data, -1) {
			fmt.Fprintf(&tests, " %s ", m[1])
		}
	}
	var missing []string
	for _, file := range files {
		if !strings.HasSuffix(file, ".md") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		for _, m := range testNamed.FindAllSubmatch(data, -1) {
			name := " " + string(m[1])
			if len(m[2]) == 0 {
				name += " "
			}
			if !strings.Contains(tests.String(), name) {
				missing = append(missing, fmt.Sprintf("%s: there is no test %s", file, m[1]))
			}
		}
	}
	return missing, nil
}
