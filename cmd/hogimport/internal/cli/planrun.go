package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hogapi/hogapi"
	pages "github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/history"
)

// planOf returns the plan that the arguments of a command name, or nil. With a plan, flags that are keys too are refused.
func planOf(args []string, flags *pflag.FlagSet) (*planFile, error) {
	at := slices.IndexFunc(args, isPlanPath)
	switch {
	case at < 0:
		return nil, nil //nolint:nilnil // there is no plan, and no error
	case len(args) > 1:
		return nil, shell.UsageError("a plan, "+args[at]+", and other files", "give the plan alone: it names its files")
	}
	p, err := readPlan(args[0])
	if err != nil {
		return nil, err
	}
	return p, p.refuseFlags(flags)
}

// planned returns the arguments of a command about an import. Where they are a plan, they become the state folder of its
// import, which must have begun.
func planned(args []string, flags *pflag.FlagSet, dir *string) (files []string, p *planFile, err error) {
	p, err = planOf(args, flags)
	if p == nil || err != nil {
		return args, nil, err
	}
	s := &state{dir: p.State}
	found, err := s.read("import.json", &s.kept)
	switch {
	case err != nil:
		return nil, p, err
	case !found:
		return nil, p, &shell.Fault{Code: shell.CodeCannot, Text: "the import of " + p.path + " has not begun", Next: []shell.Step{{Command: "hogimport run " + shell.Quoted(p.path)}}}
	}
	*dir = p.State
	return nil, p, p.isOf(s)
}

// onlyPlan allows a plan as the only argument.
func onlyPlan(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && isPlanPath(args[0]) {
		return nil
	}
	return cobra.NoArgs(cmd, args)
}

// named returns the words that name an import in a command: its plan, or its state folder.
func (s *state) named() string {
	if path := s.kept.Plan; path != "" && sizeOfFile(path) > 0 {
		if rel, err := filepath.Rel(absolute("."), path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		return shell.Quoted(path)
	}
	return "--state " + shell.Quoted(s.folder())
}

// limitsOf returns the flags of limits that a command that continues an import needs again.
func (s *state) limitsOf(flags *pflag.FlagSet) string {
	if s.kept.Plan != "" {
		return ""
	}
	return shell.Given(flags, "rate", "max-rejects")
}

// refuseFlags refuses flags that are keys of the plan.
func (p *planFile) refuseFlags(flags *pflag.FlagSet) error {
	keys := map[string]string{"import-id": "import-id", "state": "state", mapFileFlag: "map", editFileFlag: "rename, drop and rename-property"}
	for _, key := range append(p.Choices.Keys(), p.Limits.Keys()...) {
		keys[key.Name] = key.Name
	}
	var wrong error
	flags.VisitAll(func(f *pflag.Flag) {
		key := keys[f.Name]
		if wrong != nil || !f.Changed || key == "" {
			return
		}
		if line := p.lines[key]; line > 0 {
			wrong = shell.UsageError(fmt.Sprintf("--%s is given, and %s the key %s too", f.Name, strings.TrimSuffix(p.at(line), ": ")+" has", key), "leave out the flag, or change the key in the plan")
			return
		}
		wrong = shell.UsageError(fmt.Sprintf("--%s is given with the plan %s, in which it is the key %s", f.Name, p.path, key),
			fmt.Sprintf("leave out the flag, or write it into the plan: %s: %s", key, scalar(f.Value.String())))
	})
	return wrong
}

// follow takes the settings of a plan, in place of flags.
func (r *runFlags) follow(p *planFile) {
	decided := p.Decided()
	r.plan, r.state, r.importID = p, decided.State, decided.ID
	r.input = input{Files: decided.Paths(), Choices: decided.Choices, memory: decided.Limits.Memory}
	limits := decided.Limits.Keys()
	for i, key := range r.limits.Keys() {
		if *limits[i].To.(*string) != "" { //nolint:forcetypeassert // all limits are texts
			key.Take(limits[i])
		}
	}
}

// isGiven reports whether a flag was given, or a plan says it.
func (r *runFlags) isGiven(flag string) bool { return r.plan != nil || r.flags.Changed(flag) }

// obey refuses a plan that cannot be run, and one that no longer fits its files, its project or its import.
func (a *app) obey(ctx context.Context, r *runFlags) error {
	p := r.plan
	if err := p.fits(ctx, &r.input); err != nil {
		return err
	}
	if err := a.fitsProject(p, &r.project); err != nil {
		return err
	}
	return a.fitsFiles(ctx, p)
}

// fits refuses a plan that cannot be run, and one that no longer fits its import.
func (p *planFile) fits(ctx context.Context, in *input) error {
	if err := p.check(); err != nil {
		return err
	}
	if err := in.checkFormat(ctx); err != nil {
		return p.inKeys(err)
	}
	return p.fitsImport(in.version())
}

// check refuses a plan that cannot be run. The errors name lines and keys.
func (p *planFile) check() error {
	if p.State == "" {
		p.wrong(0, "the key state is missing", "write the folder of the import, such as state: hogimport-state/export")
	}
	err := p.Check()
	if err == nil {
		return p.fault()
	}
	for _, one := range joined(err) {
		wrong, ok := errors.AsType[*hogapi.InputError](one)
		if !ok {
			return err
		}
		key, isDecision := strings.CutPrefix(wrong.Field, "decide.")
		switch line := p.lines[wrong.Field]; {
		case isDecision && wrong.Value == "":
			p.wrong(line, "the answer about "+key+" is missing", "read the problem there, and write "+strings.TrimPrefix(wrong.Want, "an answer: ")+" after answer:")
		case isDecision:
			p.wrong(line, fmt.Sprintf("%q is not an answer about %s", pages.Shown(wrong.Value), key), "write "+strings.TrimPrefix(wrong.Want, "an answer: "))
		default:
			p.wrong(line, fmt.Sprintf("%s %s is not allowed", wrong.Field, pages.Shown(wrong.Value)), "write "+wrong.Want)
		}
	}
	return p.fault()
}

// joined returns the errors that errors.Join has joined.
func joined(err error) []error {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		return list.Unwrap()
	}
	return []error{err}
}

// fitsImport compares a plan with the state of its import.
func (p *planFile) fitsImport(mapping int) error {
	s := &state{dir: p.State}
	found, err := s.read("import.json", &s.kept)
	if err != nil {
		return err
	}
	again := "make the plan again, and read it: hogimport plan " + shell.Quoted(p.path)
	if !found || s.hasSentNothing() {
		if p.Mapping == mapping {
			return nil
		}
		return shell.UsageError(fmt.Sprintf("%sthe plan was made for version %d of the mapping, and this release has version %d, which makes other properties", p.at(p.lines["mapping"]), p.Mapping, mapping), again)
	}
	if err := p.isOf(s); err != nil {
		return err
	}
	if p.Mapping != s.kept.Mapping {
		return shell.UsageError(fmt.Sprintf("%sthe import in %s began with version %d of the mapping, and the plan has version %d", p.at(p.lines["mapping"]), s.dir, s.kept.Mapping, p.Mapping), again)
	}
	if names := s.kept.Input.Differences(p.choices()); len(names) > 0 {
		line := 0
		for _, name := range names {
			line = max(line, p.lines[name])
		}
		flags := "--" + strings.Join(names, ", --")
		return shell.UsageError(fmt.Sprintf("%sthe import in %s began with another %s", p.at(line), s.dir, strings.Join(names, ", ")), keyed(s.another(flags)))
	}
	return nil
}

// isOf refuses the state of another import.
func (p *planFile) isOf(s *state) error {
	if s.kept.ID == p.ID {
		return nil
	}
	return shell.UsageError(fmt.Sprintf("%sthe plan is of the import %s, and %s has the import %s", p.at(p.lines["import-id"]), p.ID, s.dir, s.kept.ID),
		"give the plan of that import, or another state in the plan")
}

// choices returns the choices with the answers, as an import keeps them.
func (p *planFile) choices() *history.Choices {
	c := p.Decided().Choices
	if c.SessionsAfter != "" {
		in := input{Choices: c}
		_ = in.checkSessions() // for the path of the file
		c = in.Choices
	}
	return &c
}

// fitsProject compares the project of a plan with that of a command.
func (a *app) fitsProject(p *planFile, to *project) error {
	client, err := a.client(to, true, false)
	if err != nil {
		return err
	}
	here := a.targetOf(client, to)
	for _, pair := range []struct{ key, was, is, what string }{
		{"project.host", p.Project.Host, here.Target, "the server"},
		{"project.id", p.Project.ID, here.Project, "the project"},
		{"project.key", p.Project.Key, here.Key, "the project API key"},
	} {
		if pair.was == "" || pair.is == "" || pair.was == pair.is || pair.key == "project.host" && slices.Contains(movedTo(p.State), pair.was+"="+pair.is) || to.moved == pair.was+"="+pair.is {
			continue
		}
		text := fmt.Sprintf("%s%s is %s, and this is %s", p.at(p.lines[pair.key]), pair.key, pair.was, pair.is)
		if pair.key == "project.key" {
			text = p.at(p.lines[pair.key]) + pair.key + " is of another project API key than the one that is given"
		}
		return &shell.Fault{Code: shell.CodeProject, Text: text,
			Todo: "give " + pair.what + " of the plan. For another project, make a plan of its own: hogimport plan with another --write and --state"}
	}
	return nil
}

// movedTo returns the entries of --moved-host that an import keeps.
func movedTo(dir string) []string {
	s := &state{dir: dir}
	_, _ = s.read("import.json", &s.kept) // which the command reads again
	return s.kept.Moved
}

// fitsFiles compares the files with the plan, and shows the difference.
func (a *app) fitsFiles(ctx context.Context, p *planFile) error {
	meter := a.Meter()
	defer meter.End()
	changes, err := p.Changes(ctx, func(n int64) { meter.Phase("comparing the files with the plan: " + progress.Bytes(n)) })
	if err != nil {
		return checkFault(err)
	}
	if len(changes) == 0 {
		return nil
	}
	const maxShown = 10
	f := &shell.Fault{
		Code: shell.CodeUsage, Text: fmt.Sprintf("%s is stale: %s since; nothing was sent", p.path, changedText(len(changes), len(p.Files))),
		Todo: "bring the files back as they were, or make the plan again and read it: hogimport plan " + shell.Quoted(p.path),
	}
	for _, c := range changes[:min(len(changes), maxShown)] {
		f.Lines = append(f.Lines, p.at(p.lines["files."+p.fileKey(c.Was.Path)])+c.String())
	}
	if more := len(changes) - maxShown; more > 0 {
		f.Lines = append(f.Lines, fmt.Sprintf("and %d more", more))
	}
	return f
}

func changedText(changed, all int) string {
	if all == 1 {
		return "its file has changed"
	}
	if changed == 1 {
		return fmt.Sprintf("1 of its %d files has changed", all)
	}
	return fmt.Sprintf("%d of its %d files have changed", changed, all)
}

// fileKey returns a path as the file of the plan has it.
func (p *planFile) fileKey(path string) string {
	for key := range p.lines {
		if name, isFile := strings.CutPrefix(key, "files."); isFile && p.opened(name) == path {
			return name
		}
	}
	return filepath.ToSlash(path)
}

// inKeys rewrites an error of a flag in the words of the plan, with its line.
func (p *planFile) inKeys(err error) error {
	f, ok := withKeys(err).(*shell.Fault) //nolint:errorlint // of a flag, made here
	if !ok {
		return err
	}
	line := 0
	if found := flagOfText.FindStringSubmatch(err.Error()); found != nil {
		line = p.lines[found[1]]
	}
	f.Text = p.at(line) + f.Text
	return f
}

// withKeys returns a fault with the names of keys in place of flags.
func withKeys(err error) error {
	f, ok := err.(*shell.Fault) //nolint:errorlint // only where it is shown as it is
	if !ok {
		return err
	}
	said := *f
	said.Text, said.Todo = keyed(f.Text), keyed(f.Todo)
	return &said
}

var flagOfText = regexp.MustCompile(`--([a-z][a-z-]*)`)

// keyed returns a text in which flags that are keys of a plan have their names.
func keyed(text string) string {
	keys := append(new(history.Choices).Keys(), new(history.PlanLimits).Keys()...)
	return flagOfText.ReplaceAllStringFunc(text, func(flag string) string {
		if name := flag[2:]; slices.ContainsFunc(keys, func(k history.PlanKey) bool { return k.Name == name }) {
			return name
		}
		return flag
	})
}

// obeyTrial takes the settings of a plan. The project differs from the plan's.
func (t *trial) obeyTrial(ctx context.Context, p *planFile) error {
	r := &runFlags{}
	r.follow(p)
	if err := p.fits(ctx, &r.input); err != nil {
		return err
	}
	t.in = r.input
	return t.fitsFiles(ctx, p)
}
