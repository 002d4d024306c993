// Command samples converts a folder of real files of vendors, and prints the counts of each file:
//
//	go run ./formats/internal/samples /path/to/vendors
//
// The folder has one folder a vendor. A file that no format is known for is named as such.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hogapi/hogapi"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./formats/internal/samples DIR")
		os.Exit(2)
	}
	if err := report(context.Background(), os.Stdout, os.DirFS(os.Args[1])); err != nil {
		fmt.Fprintln(os.Stderr, "samples:", err)
		os.Exit(1)
	}
}

// report writes the table of all files.
func report(ctx context.Context, w io.Writer, folder fs.FS) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "file\trecords\tevents\tskipped\trejected\twhy")
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(name, "/") {
			return err
		}
		format, known := formatOf(name)
		if !known {
			fmt.Fprintf(table, "%s\t\t\t\t\tno format\n", name)
			return nil
		}
		c, err := convert(ctx, hogapi.FileSourceFS(folder, format, name))
		if err != nil {
			c.why = err.Error()
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%s\n", name, c.records, c.events, c.skipped, c.rejected, c.reasons())
		return nil
	})
	return errors.Join(err, table.Flush())
}

// counts are the counts of a file.
type counts struct {
	records, events, skipped, rejected int64

	skips map[string]int64
	why   string // the first reject
}

func (c counts) reasons() string {
	var all []string
	for reason, n := range c.skips {
		all = append(all, fmt.Sprintf("skipped, %s: %d", reason, n))
	}
	slices.Sort(all)
	if c.why != "" {
		all = append(all, c.why)
	}
	return strings.Join(all, "; ")
}

// convert counts the records of a source, and their events, skips and rejects.
func convert(ctx context.Context, source hogapi.Source) (c counts, err error) {
	var last hogapi.Position
	for ev, err := range source.Events(ctx, hogapi.Position{}) {
		if err != nil {
			return c, err
		}
		if ev.Position != last {
			c.records++
		}
		last = ev.Position
	}
	check, err := hogapi.Check(ctx, source, &hogapi.ImportOptions{ID: "samples", MaxRejectShare: -1})
	c.events, c.skipped, c.rejected, c.skips = check.Good, check.Skipped, check.Rejected, check.Skips
	first := hogapi.CheckExample{Position: hogapi.Position{Offset: 1 << 62}}
	for _, finding := range check.Reasons {
		if e := finding.Examples[0]; cmp.Compare(e.Position.Offset, first.Position.Offset) < 0 {
			first = e
		}
	}
	c.why = first.Text
	return c, err
}

// formatOf is the format of a file, by its folder and its name.
func formatOf(name string) (hogapi.Format, bool) {
	for _, f := range formats {
		if ok, _ := path.Match(f.files, name); ok {
			return f.format, true
		}
	}
	return hogapi.Format{}, false
}
