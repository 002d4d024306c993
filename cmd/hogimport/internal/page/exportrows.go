package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/formats/posthogexport"
)

// exportRows lists the data that a PostHog export does not return, and the data that the new project shows differently.
// The anchor is a section of the page, or empty.
func exportRows(rows *posthogexport.RowTest, anchor string) (list []page.Finding) {
	if rows == nil {
		return nil
	}
	add := func(level page.Level, texts []string) {
		for _, text := range texts {
			title, text, _ := strings.Cut(text, ". ")
			list = append(list, page.NewFinding(level, title, text+".", anchor))
		}
	}
	add(page.Warn, rows.Losses())
	add(page.Info, rows.Notes())
	return list
}

// maxGroupTypes is how many types of groups a project has at most.
const maxGroupTypes = 5

// room is how many types a project can still get: a new one gets the next free number from the count of types on, so a
// number below it stays free where a type was deleted.
func room(types []string) (n int) {
	count := 0
	for _, kind := range types {
		if kind != "" {
			count++
		}
	}
	for i := count; i < maxGroupTypes; i++ {
		if i >= len(types) || types[i] == "" {
			n++
		}
	}
	return n
}

func kindNames(kinds []string) string {
	var names []string
	for _, kind := range kinds {
		if kind != "" {
			names = append(names, page.Shown(kind))
		}
	}
	return few(names, maxGroupTypes, ", ")
}

// groupTypes compares the group types in the rows with the project's.
func (c Check) groupTypes() (list []page.Finding) {
	if c.Rows == nil || len(c.Rows.GroupTypes) == 0 {
		return nil
	}
	kinds := c.Rows.Kinds()
	const advice = "A project numbers its types as they arrive, and has five at most. Where insights are copied from the old project, let the types arrive in its order first"
	if c.GroupsHint != "" {
		return []page.Finding{page.NewFinding(page.Info, "Events have groups of the types "+kindNames(kinds), advice+". "+c.GroupsHint, "warnings")}
	}
	var lacking, others []string
	for _, kind := range kinds {
		now := slices.Index(c.GroupTypes, kind)
		was, isKnown := c.Rows.GroupIndexes[kind]
		switch {
		case now < 0:
			lacking = append(lacking, kind)
		case isKnown && was != now:
			others = append(others, fmt.Sprintf("%s is number %d in the old project and %d in this one", page.Shown(kind), was, now))
		}
	}
	if room := room(c.GroupTypes); len(lacking) > room {
		list = append(list, page.NewFinding(page.Warn, fmt.Sprintf("The project has no room for %s of groups", page.Plural(int64(len(lacking)-room), "type", "types")),
			fmt.Sprintf("Events have groups of the types %s, which it lacks, and a project has five at most; this one has %s. Events of further types are stored with their $groups, "+
				"but no insight shows these groups, and their properties are lost. Deleting a type does not always make room: import into a project without types of its own.",
				kindNames(lacking), cmp.Or(kindNames(c.GroupTypes), "none")), "warnings"))
	} else if len(lacking) > 0 {
		list = append(list, page.NewFinding(page.Info, "The project lacks the types of groups "+kindNames(lacking), advice+".", "warnings"))
	}
	if len(others) > 0 {
		list = append(list, page.NewFinding(page.Warn, page.Plural(int64(len(others)), "type of groups has", "types of groups have")+" another number in the project",
			strings.Join(others, ", ")+". The events get this project's numbers. Insights that were copied from the old project name types by number, so they show other groups: correct them.", "warnings"))
	}
	return list
}

// NotCarried writes counts of the data that an import of an export did not carry over or changed, one per line, without
// reasons.
func NotCarried(rows *posthogexport.RowTest, write func(line string)) {
	if rows == nil {
		return
	}
	findings := exportRows(rows, "")
	if len(findings) == 0 {
		write("Nothing that the " + page.Plural(rows.Rows, "row has", "rows have") + " was left out or changed.")
		return
	}
	write("Not carried over as it was, of " + page.Plural(rows.Rows, "row", "rows") + " (hogimport check says why):")
	for _, f := range findings {
		write("  " + f.Title)
	}
}
