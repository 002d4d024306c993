package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/history"
)

// begin finds the files of the plan and the state of its import.
func (p *planner) begin(ctx context.Context, files []string) (paths []string, err error) {
	p.words = strings.TrimSpace(strings.Join(fileWords(files), " ") + corrections(p.flags) + shell.Given(p.flags, "until", "max-rejects", "rate", "protocol", "max-outage", "memory", "state", "import-id"))
	if len(files) == 1 && isPlanPath(files[0]) {
		if _, err := readPlan(files[0]); err != nil {
			return nil, err
		}
		p.write, files = cmp.Or(p.write, files[0]), nil
	}
	if err := p.readOld(); err != nil {
		return nil, err
	}
	p.in.Files = files
	if p.from != "" {
		if err := p.adopt(files); err != nil {
			return nil, err
		}
	}
	if p.old != nil {
		p.keepOld()
	}
	if p.in.Format == "" {
		p.findFormat(ctx)
	}
	err = p.in.check(ctx)
	if twice := intraday(p.in.paths()); err != nil && p.in.isGA4() && !p.in.NoIntraday && len(twice) > 0 {
		p.in.NoIntraday = true
		err = p.in.check(ctx)
	}
	if err != nil {
		return nil, err
	}
	if p.in.joinsByDefault() && !p.isGiven("links") {
		p.in.Links = true
	}
	if p.in.sortsByDefault() && !p.isGiven("sort") {
		p.in.Sort = true
	}
	for _, out := range []shell.Output{reportAt(p.report, "plan"), planOutput(p.write)} {
		if err := out.Check(p.in.paths()); err != nil {
			return nil, err
		}
	}
	return p.place(ctx)
}

// isGiven reports whether a flag or the plan before says something about a choice.
func (p *planner) isGiven(key string) bool {
	return p.flags.Changed(key) || p.old != nil && p.old.lines[key] > 0
}

// readOld reads the plan that is to be made again.
func (p *planner) readOld() (err error) {
	if p.write == "" || sizeOfFile(p.write) == 0 {
		return nil
	}
	if err := planOutput(p.write).Check(nil); err != nil {
		return err
	}
	p.old, err = readPlan(p.write)
	return err
}

// keepOld takes the files, the choices and the answers of the plan before. Flags win.
func (p *planner) keepOld() {
	old := p.old.Decided()
	if len(p.in.Files) == 0 {
		p.in.Files = old.Paths()
	}
	for _, pair := range [][2][]history.PlanKey{{p.in.Choices.Keys(), old.Choices.Keys()}, {p.limits.limits.Keys(), old.Limits.Keys()}} {
		for i, key := range pair[0] {
			isDecided := slices.ContainsFunc(old.Decide, func(d history.PlanDecision) bool { return d.Key == key.Name && !d.IsOpen() })
			if p.flags.Changed(key.Name) || p.old.lines[key.Name] == 0 && !isDecided {
				continue
			}
			key.Take(pair[1][i])
		}
	}
	p.in.memory = cmp.Or(p.in.memory, old.Limits.Memory)
	p.limits.state, p.limits.importID = cmp.Or(p.limits.state, old.State), cmp.Or(p.limits.importID, old.ID)
}

// findFormat takes the format that the records of all files look like.
func (p *planner) findFormat(ctx context.Context) {
	const maxLooked = 20
	found := ""
	for _, path := range p.in.paths()[:min(len(p.in.paths()), maxLooked)] {
		one := guess(ctx, path)
		if isMapped(one) || found != "" && one != found {
			return
		}
		found = one
	}
	if found != "" && len(p.in.Map)+len(p.in.Header) == 0 {
		p.in.Format = found
		p.why["format"] = "the first records look like it; give --format if it is another"
	}
}

// adopt takes the settings that an import began with.
func (p *planner) adopt(files []string) error {
	if p.old != nil || len(files) > 0 {
		return shell.UsageError("--from-checkpoint takes the files and the choices of the import", "name no files, and give --write a new FILE")
	}
	for _, key := range p.in.Keys() {
		if p.flags.Changed(key.Name) {
			return shell.UsageError("--from-checkpoint takes the choices of the import, and --"+key.Name+" is given", "leave it out")
		}
	}
	s := &state{dir: p.from}
	found, err := s.read("import.json", &s.kept)
	switch {
	case err != nil:
		return err
	case !found:
		return notAState(p.from)
	case s.kept.Rejects != "" || strings.HasPrefix(s.kept.ID, trialPrefix):
		return shell.UsageError(p.from+" has a fix or a trial, and no import", "give the state folder of the import")
	case s.kept.Files == nil:
		return shell.UsageError("the import in "+p.from+" was begun by a release that did not keep what its files were", "finish it with the flags that it was begun with")
	}
	p.in, p.limits.state, p.limits.importID = s.kept.Input, p.from, s.kept.ID
	p.in.memory = s.kept.Memory
	return nil
}

// place finds the state folder and the files that the import has or gets, and refuses choices that a begun import cannot take.
func (p *planner) place(ctx context.Context) ([]string, error) {
	r := &p.limits
	r.project = p.project
	if p.from == "" && !p.flags.Changed("state") && sameFile(filepath.Dir(r.state), stateRoot) {
		r.state = "" // the folder is found by the files, since others may have been imported before
	}
	if !p.flags.Changed("import-id") && p.from == "" {
		r.importID = ""
	}
	asked := p.in
	asked.Files = p.in.paths()
	before, err := p.importsOf(ctx, asked.Files)
	if err != nil {
		return nil, checkFault(err)
	}
	dir, _, err := p.choose(ctx, r, &asked)
	if err != nil {
		return nil, err
	}
	s := &state{dir: dir}
	found, err := s.read("import.json", &s.kept)
	if err != nil {
		return nil, err
	}
	p.in.Files, r.state = asked.Files, dir
	for _, other := range before.begun {
		if !sameFile(other.dir, dir) {
			p.before = append(p.before, other)
		}
	}
	if found && !s.hasSentNothing() {
		p.begun, r.importID = s, s.kept.ID
		p.in.mapping = s.kept.Input.mapping
		return asked.Files, s.takes(ctx, &asked)
	}
	if last := before.last; last != nil && !sameFile(last.dir, dir) && p.in.Sessions != "" && last.kept.Input.Sessions != "" {
		p.in.SessionsAfter = last.dir
		p.why["sessions-after"] = "the sessions that were open at the end of the import before go on"
		if err := p.in.checkSessions(); err != nil {
			return nil, err
		}
	}
	switch {
	case p.flags.Changed("import-id"):
	case found:
		r.importID = s.kept.ID
	case p.old != nil && sameFile(dir, p.old.State):
		r.importID = p.old.ID
	default:
		r.importID = numbered(importIDOf(asked.Files, &asked), hasImport)
	}
	if found {
		return asked.Files, nil
	}
	return asked.Files, s.checkEmpty()
}

// takes refuses choices or files with which a begun import cannot go on.
func (s *state) takes(ctx context.Context, asked *input) error {
	if names := s.kept.Input.Differences(&asked.Choices); len(names) > 0 {
		return shell.UsageError(fmt.Sprintf("the import in %s began with another %s", s.dir, strings.Join(names, ", ")), s.another(s.kept.Input.differences(asked)))
	}
	if changed := s.changed(ctx, asked.Files); changed != "" {
		return shell.UsageError(fmt.Sprintf("%s has changed since the import in %s began", changed, s.dir), "bring the file back as it was, or import the files from the start with --state and another folder")
	}
	return s.checkMapping(theRest)
}

// changed returns the first file of a begun import that is not as it was; the last one may have become longer.
func (s *state) changed(ctx context.Context, paths []string) string {
	files, err := known(ctx, paths)
	if err != nil {
		return ""
	}
	find := s.finder()
	for i, file := range files {
		at, isChanged := find(file)
		if at >= 0 && isChanged && (at < len(s.kept.Files)-1 || file.Size <= s.kept.Files[at].Size) {
			return paths[i]
		}
	}
	return ""
}

func sameFile(a, b string) bool { return absolute(a) == absolute(b) }
