package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
)

// acceptance is a gap that is known.
type acceptance struct {
	Export string    `json:"export"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Reason string    `json:"reason"`
}

func acceptedBy(known []acceptance, c *hogapi.Coverage, gap hogapi.CoverageGap) *acceptance {
	for i := range known {
		a := &known[i]
		if (a.Export == c.Name || a.Export == c.ExportID.String()) && !gap.Start.Before(a.From) && !gap.End.After(a.To) {
			return &acceptance{c.Name, gap.Start, gap.End, a.Reason}
		}
	}
	return nil
}

func readAccepted(path string) (known []acceptance, err error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, shell.UsageError(fmt.Sprintf("--accept %s: %v", path, shell.Cause(err)), "give a file with the gaps that are known")
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		const columns = 4
		parts := strings.SplitN(text, "\t", columns)
		wrong := shell.UsageError(fmt.Sprintf("--accept %s, line %d: want the export, two times and the reason, divided by tabs", path, n), "see hogexport gaps --help")
		if len(parts) != columns || strings.TrimSpace(parts[3]) == "" {
			return nil, wrong
		}
		a := acceptance{Export: strings.TrimSpace(parts[0]), Reason: strings.TrimSpace(parts[3])}
		for i, to := range []*time.Time{&a.From, &a.To} {
			if *to, err = parseTime("a time", strings.TrimSpace(parts[i+1]), time.Time{}); err != nil || to.IsZero() {
				return nil, wrong
			}
		}
		known = append(known, a)
	}
	return known, lines.Err()
}
