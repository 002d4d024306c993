// Command arrows counts the references between the files of the root package, by Go's type information. In a good order
// of the files nearly all of them point the same way: it fails when too many point back.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

type arrow struct{ from, to string }

func main() {
	most := flag.Int("most", 53, "fail when more arrows than this point back")
	list := flag.Bool("list", false, "print the arrows that point back")
	flag.Parse()
	arrows, err := references(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "arrows:", err)
		os.Exit(1)
	}
	back := pointBack(arrows)
	if *list {
		for _, a := range back {
			fmt.Println(a.from, "->", a.to)
		}
	}
	fmt.Printf("root package: %d of %d references between files point back, at most %d\n", len(back), len(arrows), *most)
	if len(back) > *most || len(arrows) == 0 {
		os.Exit(1)
	}
}

// references lists the pairs of files of a package in which the first uses a name that the second declares.
func references(dir string) (map[arrow]bool, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", ".")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", list, err)
	}
	exports := make(map[string]string)
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		path, file, _ := strings.Cut(lines.Text(), " ")
		exports[path] = file
	}
	fset := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	info := types.Info{Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	pkg, err := config.Check(dir, fset, files, &info)
	if err != nil {
		return nil, err
	}
	arrows := make(map[arrow]bool)
	for use, object := range info.Uses {
		if object.Pkg() != pkg {
			continue
		}
		a := arrow{filepath.Base(fset.Position(use.Pos()).Filename), filepath.Base(fset.Position(object.Pos()).Filename)}
		if a.from != a.to {
			arrows[a] = true
		}
	}
	return arrows, nil
}

// pointBack orders the files so that few arrows point from a later file to an earlier one, and returns
// these arrows. In each step it takes a remaining file that uses no other, or one that no other uses, or
// else the file with the most uses over users.
func pointBack(arrows map[arrow]bool) []arrow {
	left := make(map[string]int)
	for a := range arrows {
		left[a.from], left[a.to] = 0, 0
	}
	place := make(map[string]int)
	first, last := 0, len(left)
	for len(left) > 0 {
		uses, users := maps.Clone(left), maps.Clone(left)
		for a := range arrows {
			_, from := left[a.from]
			_, to := left[a.to]
			if from && to {
				uses[a.from]++
				users[a.to]++
			}
		}
		names := slices.Sorted(maps.Keys(left))
		best := slices.MaxFunc(names, func(a, b string) int { return cmp.Compare(uses[a]-users[a], uses[b]-users[b]) })
		if sink := slices.IndexFunc(names, func(n string) bool { return uses[n] == 0 }); sink >= 0 {
			place[names[sink]], last = last, last-1
			delete(left, names[sink])
			continue
		}
		if source := slices.IndexFunc(names, func(n string) bool { return users[n] == 0 }); source >= 0 {
			best = names[source]
		}
		place[best], first = first, first+1
		delete(left, best)
	}
	back := slices.Collect(maps.Keys(arrows))
	back = slices.DeleteFunc(back, func(a arrow) bool { return place[a.from] < place[a.to] })
	slices.SortFunc(back, func(a, b arrow) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return back
}
