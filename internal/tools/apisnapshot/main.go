// Command apisnapshot keeps the exported declarations of the public packages as text under api/.
// Without arguments it writes the files; with -check it compares them and prints what differs, so that
// a change of the public API is always a visible part of a commit.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// packages lists what users import: folder below the root, snapshot file.
var packages = []struct{ dir, file string }{
	{".", "api/hogapi.txt"},
	{"hogapitest", "api/hogapitest.txt"},
	{"destination", "api/destination.txt"},
	{"integration", "api/integration.txt"},
	{"opt", "api/opt.txt"},
	{"ops", "api/ops.txt"},
	{"reasons", "api/reasons.txt"},
	{"warnings", "api/warnings.txt"},
	{"formats", "api/formats.txt"},
	{"formats/amplitude", "api/formats-amplitude.txt"},
	{"formats/generic", "api/formats-generic.txt"},
	{"formats/mixpanel", "api/formats-mixpanel.txt"},
	{"formats/ga4", "api/formats-ga4.txt"},
	{"formats/posthogexport", "api/formats-posthogexport.txt"},
	{"formats/segment", "api/formats-segment.txt"},
}

func main() {
	root := flag.String("root", ".", "the module's folder")
	check := flag.Bool("check", false, "compare instead of write")
	flag.Parse()
	same := true
	for _, p := range packages {
		ok, err := snapshot(*root, p.dir, p.file, *check)
		if err != nil {
			fmt.Fprintln(os.Stderr, "apisnapshot:", err)
			os.Exit(1)
		}
		same = same && ok
	}
	if !same {
		fmt.Fprint(os.Stderr, "\nThe public API differs from its snapshot. If the change is meant, run\n"+
			"\tgo run ./internal/tools/apisnapshot\nand commit api/ together with it.\n")
		os.Exit(1)
	}
}

// snapshot writes or checks one package. A package that does not exist must have no snapshot either.
func snapshot(root, dir, file string, check bool) (bool, error) {
	path := filepath.Join(root, file)
	goFiles, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		return false, err
	}
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return false, err
	}
	var now []string
	if len(goFiles) > 0 {
		if now, err = describe(root, dir); err != nil {
			return false, err
		}
	}
	if check {
		changes := diff(strings.Split(strings.TrimSpace(string(old)), "\n"), now)
		if len(changes) == 0 {
			fmt.Printf("%s: %d declarations, unchanged\n", file, len(now))
			return true, nil
		}
		fmt.Printf("%s (- snapshot, + code):\n%s\n", file, strings.Join(changes, "\n"))
		return false, nil
	}
	if len(now) == 0 {
		return true, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	fmt.Printf("%s: %d declarations\n", file, len(now))
	return true, os.WriteFile(path, []byte(strings.Join(now, "\n")+"\n"), 0o644)
}

// diff compares two lists of distinct lines, each line complete in itself: what is only in old and what is only in now,
// the removed and added forms of one declaration side by side.
func diff(old, now []string) []string {
	in := func(lines []string) map[string]bool {
		set := make(map[string]bool, len(lines))
		for _, l := range lines {
			set[l] = l != ""
		}
		return set
	}
	before, after := in(old), in(now)
	var out []string
	i, j := 0, 0
	for i < len(old) || j < len(now) {
		switch {
		case i < len(old) && !after[old[i]]:
			if old[i] != "" {
				out = append(out, "- "+old[i])
			}
			i++
		case j < len(now) && !before[now[j]]:
			out = append(out, "+ "+now[j])
			j++
		default: // both are at lines that the other side has too
			i, j = min(i+1, len(old)), min(j+1, len(now))
		}
	}
	return out
}
