package page

import (
	"strings"

	"github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/formats/posthogexport"
)

// exportRows returns what an export of PostHog does not give back, and what the new project shows in another way.
func exportRows(rows *posthogexport.RowTest) (list []page.Finding) {
	if rows == nil {
		return nil
	}
	add := func(level page.Level, texts []string) {
		for _, text := range texts {
			title, text, _ := strings.Cut(text, ". ")
			list = append(list, page.NewFinding(level, title, text+".", "warnings"))
		}
	}
	add(page.Warn, rows.Losses())
	add(page.Info, rows.Notes())
	return list
}

// NotCarried writes the numbers of what an import of an export did not carry over, or changed: a line each, without why.
func NotCarried(rows *posthogexport.RowTest, write func(line string)) {
	if rows == nil {
		return
	}
	findings := exportRows(rows)
	if len(findings) == 0 {
		write("Nothing that the " + page.Plural(rows.Rows, "row has", "rows have") + " was left out or changed.")
		return
	}
	write("Not carried over as it was, of " + page.Plural(rows.Rows, "row", "rows") + " (hogimport check says why):")
	for _, f := range findings {
		write("  " + f.Title)
	}
}
