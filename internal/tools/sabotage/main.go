// Command sabotage shows that the tests can fail. For each patch in internal/sabotage it copies the work tree
// and runs the tests that the patch names. Then it applies the patch, which removes a guard, and requires that
// these tests fail.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"
)

func main() {
	gate := flag.Bool("gate", false, "only the patches marked for the gate")
	verbose := flag.Bool("v", false, "print what the tests print")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: .ci/sabotage [-gate] [-v] [NAME…]   (all patches without a name)")
		flag.PrintDefaults()
	}
	flag.Parse()
	ok, err := sabotageAll(os.Stdout, ".", flag.Args(), *gate, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sabotage:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// sabotageAll tries the chosen patches and prints a table. It is false when one of them was not caught.
func sabotageAll(w io.Writer, root string, names []string, gate, verbose bool) (bool, error) {
	all, err := load(filepath.Join(root, "internal", "sabotage"))
	if err != nil {
		return false, err
	}
	chosen, incomplete := choose(all, names, gate)
	if chosen == nil && incomplete != nil {
		return false, incomplete
	}
	b, err := newBench(root)
	if err != nil {
		return false, err
	}
	defer b.close()

	n := 0
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PATCH\tRESULT\tBY\tTIME\tBREAKS")
	for _, p := range chosen {
		start := time.Now()
		v := b.try(p)
		if v.result == caught {
			n++
		}
		if v.result != caught || verbose {
			fmt.Fprintf(w, "--- %s: %s\n%s\n", p.Name, v.result, v.output)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%.1fs\t%s\n", p.Name, v.result, v.by, time.Since(start).Seconds(), p.Breaks)
	}
	if err := table.Flush(); err != nil {
		return false, err
	}
	fmt.Fprintf(w, "%d of %d sabotaged builds caught\n", n, len(chosen))
	return n == len(chosen), incomplete
}
