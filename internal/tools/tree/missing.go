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
	fileNamed   = regexp.MustCompile("`([\\w./-]+\\.go)`")
)

// missingFiles names the source files that documents send a reader to and that are not there. A name may leave out its folders.
func missingFiles(root string, files []string) ([]string, error) {
	all := "/" + strings.Join(files, "\n/") + "\n"
	var missing []string
	err := eachMatch(root, files, ".md", fileNamed, func(file string, m []string) {
		if !strings.Contains(all, "/"+m[1]+"\n") {
			missing = append(missing, fmt.Sprintf("%s: there is no file %s", file, m[1]))
		}
	})
	return missing, err
}

// missingTests names the tests that documents promise and no file has. A name that ends with … is a beginning.
func missingTests(root string, files []string) ([]string, error) {
	var tests strings.Builder
	if err := eachMatch(root, files, "_test.go", testDefined, func(_ string, m []string) {
		fmt.Fprintf(&tests, " %s ", m[1])
	}); err != nil {
		return nil, err
	}
	var missing []string
	err := eachMatch(root, files, ".md", testNamed, func(file string, m []string) {
		name := " " + m[1]
		if m[2] == "" {
			name += " "
		}
		if !strings.Contains(tests.String(), name) {
			missing = append(missing, fmt.Sprintf("%s: there is no test %s", file, m[1]))
		}
	})
	return missing, err
}

// eachMatch calls found for each match in the files that have the suffix.
func eachMatch(root string, files []string, suffix string, pattern *regexp.Regexp, found func(file string, m []string)) error {
	for _, file := range files {
		if !strings.HasSuffix(file, suffix) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		for _, m := range pattern.FindAllStringSubmatch(string(data), -1) {
			found(file, m)
		}
	}
	return nil
}
