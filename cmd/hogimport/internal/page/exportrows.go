package page

import (
	"strings"

	"github.com/hogapi/hogapi/cmd/internal/page"
)

// exportRows returns what an export of PostHog does not give back, and what the new project shows in another way.
func (c Check) exportRows() (list []page.Finding) {
	if c.Rows == nil {
		return nil
	}
	add := func(level page.Level, texts []string) {
		for _, text := range texts {
			title, text, _ := strings.Cut(text, ". ")
			list = append(list, page.NewFinding(level, title, text+".", "warnings"))
		}
	}
	add(page.Warn, c.Rows.Losses())
	add(page.Info, c.Rows.Notes())
	return list
}
