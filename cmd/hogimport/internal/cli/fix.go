package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/history"
)

const fixHelp = `Import the rejects of an import, with a corrected mapping or after the reject
file was corrected by hand: edit a line and remove "$reject" from it. If a
record made no event, the line has the record in "raw": correct it there and
leave "$reject"; or write the whole event next to the uuid. The row of a table
is corrected as the file has it, or as an object of its columns.

Each event keeps its uuid, so a corrected event is the same event. Records that
are rejected again are in a reject file of their own: run fix again with a
better mapping. Flags that are not given are those of the import.

With a PLAN the mapping is corrected there: change keys such as zone or map.`

const fixExample = `  hogimport fix --state hogimport-state/export --zone US/Pacific
  hogimport fix --state hogimport-state/actions \
      --map event=action --map person=user --map person=device \
      --map 'time=when|layout:02.01.2006 15:04' --zone UTC`

func newFixCommand(a *app) *cobra.Command {
	r := &runFlags{}
	cmd := &cobra.Command{
		Use: "fix [PLAN]", Short: "Import the rejects of an import, corrected", Long: fixHelp, Example: fixExample, Args: onlyPlan,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if _, r.plan, err = planned(args, cmd.Flags(), &r.state); err != nil {
				return err
			}
			return a.fix(cmd, r)
		},
	}
	r.bind(cmd)
	r.input.bind(cmd)
	r.project.bindKey(cmd)
	r.project.bindMoved(cmd)
	_ = cmd.Flags().Set("max-rejects", "none")
	for name, usage := range map[string]string{
		"state":       "the state `FOLDER` of the import; default: the only one below hogimport-state",
		"max-rejects": "stop when more is rejected again: a `NUMBER`, a share such as 5%, or none",
		"import-id":   "a `NAME` for this import ($import_job_id); default: that of the import it corrects, and -fix-1",
	} {
		cmd.Flags().Lookup(name).Usage = usage
	}
	cmd.Flags().Lookup("max-rejects").DefValue = "none"
	cmd.Flags().Lookup("max-rejects").Changed = false
	return cmd
}

// correct replaces flags of an import by the given ones.
func (in *input) correct(given *input, flags *pflag.FlagSet) {
	isOfFile := map[string][]string{"map": {mapFileFlag}, renameFlag: {editFileFlag}, dropFlag: {editFileFlag}, propertyFlag: {editFileFlag}}
	by := given.Keys()
	for i, key := range in.Keys() {
		if slices.ContainsFunc(append(isOfFile[key.Name], key.Name), flags.Changed) {
			key.Take(by[i])
		}
	}
}

// corrections returns the flags of the corrections that were given.
func corrections(flags *pflag.FlagSet) string {
	names := []string{mapFileFlag, editFileFlag}
	for _, key := range new(history.Choices).Keys() {
		names = append(names, key.Name)
	}
	return shell.Given(flags, names...)
}

func (a *app) fix(cmd *cobra.Command, r *runFlags) error {
	ctx := cmd.Context()
	dir, err := onlyState(r.state)
	if err != nil {
		return err
	}
	of, err := openState(ctx, dir)
	if err != nil {
		return err
	}
	if err := of.checkMapping("its rejects"); err != nil {
		return err
	}
	corrected := of.kept.Input
	corrected.correct(&r.input, cmd.Flags())
	if r.plan != nil {
		if err := r.plan.check(); err != nil {
			return err
		}
		corrected.Choices = *r.plan.choices()
	}
	corrected.unorder()
	if err := corrected.checkFormat(ctx); err != nil {
		return err
	}
	r.input = corrected
	if p, found, err := of.progress(); err != nil || !found || p.Ended != isComplete {
		return &shell.Fault{Code: shell.CodeOther, Text: "the import in " + dir + " is not complete", Err: err,
			Todo: "complete it with hogimport run first: with a higher --max-rejects if it stopped for its rejects. Then fix them"}
	}
	s, isNew, err := of.nextFix(corrected)
	if err != nil {
		return err
	}
	if s == nil {
		fmt.Fprintln(a.Out, "Nothing is rejected, so there is nothing to fix.")
		return nil
	}
	if isNew && r.importID != "" {
		s.kept.ID = r.importID
	}
	options, client, err := a.prepare(r, s, isNew)
	if err == nil && isNew {
		err = of.check(a.targetOf(client, &r.project), &r.project)
	}
	if err != nil {
		return err
	}
	for _, folder := range []*state{of, s} {
		lock, err := folder.lock()
		if err != nil {
			return err
		}
		defer lock.Close()
	}
	source := s.source()
	if isNew {
		if err := a.agreeToFix(ctx, r, s, source, client, options); err != nil {
			return err
		}
	}
	s.kept.More = corrections(r.flags) + r.rerun()
	s.kept.Plan = of.kept.Plan
	if err := s.save(); err != nil {
		return err
	}
	receipt, err := a.send(ctx, client, s, source, options, r.metrics)
	return a.report(ctx, s, receipt, err)
}

// agreeToFix checks all rejects with the corrected mapping, shows the result and asks whether to begin.
func (a *app) agreeToFix(ctx context.Context, r *runFlags, s *state, source history.Source, client *hogapi.Client, options history.Options) error {
	report, err := history.Check(ctx, source, &options)
	if ctx.Err() != nil {
		return interruptedBefore(err)
	}
	found := sample{report: report, isAll: true, isFix: true, total: report.Read, in: &s.kept.Input}
	a.show(found)
	switch {
	case err != nil && !isTooMuch(err):
		return err
	case report.Good == 0 && report.Rejected > 0, isTooMuch(err):
		return &shell.Fault{Code: shell.CodeRejects, Text: "with these flags too much would be rejected again; nothing was sent", Err: err,
			Todo: "The reasons are above. Correct " + s.kept.Input.readBy() + ", or the lines of " + s.kept.Rejects + " by hand: hogimport fix --help says how"}
	}
	return a.confirm(ctx, r, s, client, found)
}

// nextFix returns the state of the next fix: the last one, if it has stopped and the mapping is the same, or a
// new one. It returns nil if nothing is left.
func (s *state) nextFix(corrected input) (next *state, isNew bool, err error) {
	number, from := 1, s.rejects()
	size := sizeOfFile(s.rejects())
	last := s.lastFix()
	if last != nil {
		p, _, err := last.progress()
		if err != nil {
			return nil, false, err
		}
		number, _ = strconv.Atoi(filepath.Base(last.dir)[len("fix-"):])
		isSame := last.kept.Input.differences(&corrected) == ""
		switch {
		case p.Ended != isComplete && isSame:
			return last, last.hasSentNothing(), nil
		case last.kept.RejectsSize != size: // the import has rejected more since, or the file was corrected by hand
		case p.Ended == isComplete:
			from = last.rejects()
		default:
			from = last.kept.Rejects
		}
		number++
	}
	if sizeOfFile(from) == 0 {
		return nil, false, nil
	}
	name := "fix-" + strconv.Itoa(number)
	next = &state{dir: s.file(name)}
	next.kept = kept{ID: s.kept.ID + "-" + name, Input: corrected, Rejects: absolute(from), RejectsSize: size}
	return next, true, nil
}

// isFixed reports whether a fix has sent all rejects of an import.
func (s *state) isFixed() bool {
	last := s.lastFix()
	if last == nil {
		return false
	}
	p, _, err := last.progress()
	return err == nil && p.Ended == isComplete && last.kept.RejectsSize == sizeOfFile(s.rejects()) && sizeOfFile(last.rejects()) == 0
}

// rerun returns the command that continues an import or a fix.
func (s *state) rerun() string {
	command := "run"
	if s.kept.Rejects != "" {
		command = "fix"
	}
	return "hogimport " + command + " " + s.named() + s.kept.More
}

func (s *state) lastFix() *state {
	for number := 1; ; number++ {
		dir := s.file("fix-" + strconv.Itoa(number))
		if isStarted(dir) {
			continue
		}
		if number == 1 {
			return nil
		}
		last := &state{dir: s.file("fix-" + strconv.Itoa(number-1))}
		if _, err := last.read("import.json", &last.kept); err != nil {
			return nil
		}
		return last
	}
}

// source returns the files of the import or, for a fix, the rejects after the mapping.
func (s *state) source() history.Source {
	in := s.kept.Input
	in.memory = s.kept.Memory
	if s.kept.Rejects == "" {
		return in.source(s.dir)
	}
	convert := in.format().Convert
	rejected := history.Rejected(s.kept.Rejects, convert)
	if convert == nil {
		rejected = in.editedLines(rejected)
	}
	return in.withoutMerges(in.cut(rejected))
}

// folder returns the state folder of the import, also for the state of a fix.
func (s *state) folder() string {
	if s.kept.Rejects != "" {
		return filepath.Dir(s.dir)
	}
	return s.dir
}

func sizeOfFile(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
