package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/formats"
)

// importsOf returns the imports that have begun to send some of these files.
func (c *check) importsOf(ctx context.Context, paths []string) (settled, error) {
	sent := slices.DeleteFunc(importsBelow(c.keyDigest(&c.project)), func(s *state) bool {
		_, err := os.Stat(s.checkpoint())
		return err != nil || s.hasSentNothing()
	})
	var files []knownFile
	if len(sent) > 0 {
		var err error
		if files, err = known(ctx, paths); err != nil {
			return settled{}, err
		}
	}
	return settledOf(paths, files, sent), nil
}

// is returns the state that hogimport status shows, and whether all events were found in the
// project.
func (s *state) is() (word string, isVerified bool) {
	one, err := s.standing(time.Now())
	if err != nil {
		return "unknown", false
	}
	isVerified, err = s.isVerified()
	return one.Is, err == nil && isVerified && one.Is == isComplete
}

func (s *state) begun() page.Begun {
	b := page.Begun{Folder: s.dir}
	b.Is, b.IsVerified = s.is()
	if p, found, err := s.progress(); err == nil && found {
		b.Acknowledged = p.Acknowledged
	}
	return b
}

// askProject asks the project for its events of these days, and for the part of them that comes
// from imports that have begun, if there is a key. An answer that fails is no error of the files.
func (c *check) askProject(ctx context.Context, p *page.Check, begun []*state) {
	if !c.canAsk(&c.project) || p.Report.Good == 0 {
		return
	}
	client, err := c.client(&c.project, false, true)
	if err == nil {
		p.Report.Held, err = formats.Held(ctx, client, p.Report.CheckReport)
	}
	if err == nil && len(p.Report.Held) > 0 {
		p.Own, err = ownDays(ctx, client, begun)
	}
	if err == nil && p.KeepsSet {
		p.Later, err = eventsAfter(ctx, client, p.Report.CheckReport)
	}
	if err != nil {
		p.Report.Held, p.Own = nil, nil
		p.Unasked = faultOf(err).text
		c.warn("the project was not asked which days it has: " + p.Unasked)
		return
	}
	p.Project = c.projectID(&c.project)
	// Advice never leaves out every event, nor events that the import itself has sent.
	others := p.Report
	others.Held = slices.Clone(others.Held)
	for i := range others.Held {
		others.Held[i].Project -= p.Own[others.Held[i].Day]
	}
	if cut := others.Cut(); cut > p.Report.Oldest.UTC().Format(time.DateOnly) {
		p.Report.CutFrom = cut
	}
}

// eventsAfter is how many events a project has after the days of a report.
func eventsAfter(ctx context.Context, client *hogapi.Client, r hogapi.CheckReport) (n int64, err error) {
	const day = 24 * time.Hour
	r.Oldest, r.Newest, r.Days = r.Newest.UTC().Truncate(day).Add(day), time.Now(), nil
	if r.Oldest.After(r.Newest) {
		return 0, nil
	}
	held, err := formats.Held(ctx, client, r)
	for _, d := range held {
		n += d.Project
	}
	return n, err
}

// ownDays are how many events of some imports, and of their fixes, the project has by day.
func ownDays(ctx context.Context, client *hogapi.Client, begun []*state) (map[string]int64, error) {
	own := map[string]int64{}
	for _, s := range begun {
		ids := []string{s.kept.ID}
		fixes, _ := filepath.Glob(s.file("fix-*"))
		for _, dir := range fixes {
			fix := &state{dir: dir}
			if found, err := fix.read("import.json", &fix.kept); err == nil && found {
				ids = append(ids, fix.kept.ID)
			}
		}
		slices.Sort(ids)
		for _, id := range slices.Compact(ids) {
			days, err := daysOf(ctx, client, id)
			if err != nil {
				return nil, err
			}
			for _, day := range days {
				own[day.Day] += day.Events
			}
		}
	}
	return own, nil
}
