package page

import (
	"fmt"
	"strings"

	"github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/formats"
)

// Persons describes the persons that links make, in a sentence or several.
func Persons(r formats.LinksReport) string {
	if r.Persons == 0 {
		return "No person comes out of more than one id." + left(r)
	}
	var largest []string
	for _, p := range r.Largest {
		largest = append(largest, fmt.Sprintf("%s %s", page.Shown(p.ID), page.Count(p.IDs)))
	}
	most := "The largest, with their numbers of ids: "
	if len(largest) == 1 {
		most = "Its id, and its number of ids: "
	}
	return fmt.Sprintf("%s out of more than one id: of %s. %s%s.%s", page.Plural(r.Persons, "person comes", "persons come"),
		page.Plural(r.IDs, "id", "ids"), most, strings.Join(largest, ", "), left(r))
}

func left(r formats.LinksReport) (text string) {
	if n := r.Left[formats.SkipSharedDevice]; n > 0 {
		text += " " + page.Plural(n, "id of a device had", "ids of devices had") + " two users or more: not joined."
	}
	if n := r.Left[formats.SkipUserDevice]; n > 0 {
		text += " " + page.Plural(n, "id of a device is", "ids of devices are") + " also the id of another user: not joined."
	}
	return text
}

// persons returns the findings about the persons of several ids.
func (c Check) persons() (list []page.Finding) {
	r := c.Report.Links
	if r == nil || r.Persons == 0 && len(r.Left) == 0 {
		return nil
	}
	if most := c.MaxIDs; len(r.Largest) > 0 && most > 0 && r.Largest[0].IDs > int64(most) {
		p := r.Largest[0]
		var others []string
		for _, id := range p.Others {
			others = append(others, page.Shown(id))
		}
		list = append(list, page.NewFinding(page.Bad, page.Plural(p.IDs, "id", "ids")+" would become one person", fmt.Sprintf(
			"It is %s, with %s and others. --links joins at most %s ids, since a merge cannot be undone. If it is one person, "+
				"give --max-ids %d; if not, import without --links.", page.Shown(p.ID), strings.Join(others, ", "), page.Count(int64(most)), p.IDs), "duplicates"))
	}
	title := page.Plural(r.Persons, "person comes", "persons come") + " out of more than one id"
	if r.Persons == 0 {
		title = "No ids are joined"
	}
	text := Persons(*r)
	if !c.People.Links {
		text = "With --links. " + text
	}
	return append(list, page.NewFinding(page.Info, title, text, "duplicates"))
}
