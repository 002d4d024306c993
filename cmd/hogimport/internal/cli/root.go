// Package cli has the commands of hogimport, one in each file.
package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/progress"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/term"
)

type app struct {
	stdin  io.Reader
	stdout *term.Screen // results: tables, and JSON with --json
	stderr *term.Screen // progress, warnings, questions
	env    func(name string) string
	stop   *interrupts

	json bool   // --json
	log  string // --log: "text" or "json"
}

const longHelp = `hogimport moves the history of another analytics tool to PostHog: it downloads
the history, checks the files, imports them resumably, and verifies that all
events have arrived.

Each flag has an environment variable, which is shown next to it. Give keys in
the environment: POSTHOG_PROJECT_API_KEY, POSTHOG_PERSONAL_API_KEY.`

const exitHelp = `Exit codes:
  0  complete; rejects below the limit are named on the last line
  1  another error
  2  wrong usage
  3  too many rejects
  4  stopped and resumable: run the same command again
  5  the key or the project is wrong
  6  events are missing
  7  not yet complete, or unknown`

const rootExample = `  hogimport check --format mixpanel export/*.jsonl --report report.html
  hogimport trial --format mixpanel export/*.jsonl   # with a test project's key
  hogimport run --host eu --format mixpanel export/*.jsonl
  hogimport verify                                   # again if it says so`

// Run is the whole program: it returns the exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) string) int {
	a := &app{stdin: stdin, stdout: term.NewScreen(stdout, env), stderr: term.NewScreen(stderr, env), env: env}
	ctx, a.stop = watchInterrupts(ctx)
	defer a.stop.end()
	root := newRoot(a) //nolint:contextcheck // commands get theirs when they run
	root.SetArgs(args)
	if err := a.checkKeys(args); err != nil {
		return a.exit(err)
	}
	return a.end(root.ExecuteContext(ctx))
}

// end prints the errors of a command and of its output. It returns the exit code, which is the command's own if
// the command failed.
func (a *app) end(err error) int {
	code := a.exit(err)
	failed := a.stdout.Failed()
	if failed == nil {
		return code
	}
	return cmp.Or(code, a.exit(&fault{
		code: codeOther, text: "the result cannot be written to the standard output: " + cause(failed).Error(), err: failed,
		todo: "make room, or write it to another place, and run the same command again: what it has done is kept",
	}))
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use: "hogimport", Short: "Move the history of another analytics tool to PostHog",
		Long: longHelp + "\n\n" + exitHelp, Example: rootExample, Version: version(),
		SilenceUsage: true, SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.begin(cmd) },
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetVersionTemplate("hogimport {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(fmt.Sprintf("%v", err), term.DidYouMean(cmd, err)+"see "+cmd.CommandPath()+" --help")
	})
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print results as JSON")
	root.PersistentFlags().StringVar(&a.log, "log", "text", "the `FORM` of progress, warnings and errors: text or json")
	root.AddCommand(newFetchCommand(a), newRunCommand(a), newStatusCommand(a), newFixCommand(a), newFormatsCommand(a),
		newCheckCommand(a), newVerifyCommand(a), newUndoCommand(a), newTrialCommand(a))
	root.SuggestionsMinimumDistance = 2
	completeValues(root)
	setHelp(root)
	return root
}

// begin takes flags from the environment and checks the flags of all commands.
func (a *app) begin(cmd *cobra.Command) error {
	var err error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value := a.env(variable(f))
		if f.Changed || value == "" || err != nil || isCommon(f) {
			return
		}
		values := []string{value}
		if f.Value.Type() == "stringArray" { // a value a line
			values = strings.Split(strings.TrimSpace(value), "\n")
		}
		for _, value := range values {
			bad := cmd.Flags().Set(f.Name, value)
			if bad == nil {
				continue
			}
			err = usageError(fmt.Sprintf("%s: %v", variable(f), bad), "see "+cmd.CommandPath()+" --help")
		}
	})
	if err != nil {
		return err
	}
	if a.log != "text" && a.log != "json" {
		return usageError(fmt.Sprintf("--log %q is not a form of lines", a.log), "give text or json")
	}
	if a.json {
		a.stdout.ForPrograms()
	}
	if a.log == "json" {
		a.stderr.ForPrograms()
	}
	return nil
}

// logger writes lines for programs with --log json, and nothing otherwise.
func (a *app) logger() *slog.Logger {
	if a.log == "json" {
		return slog.New(slog.NewJSONHandler(a.stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

// note writes a line about the work under way.
func (a *app) note(text string) {
	if a.log == "json" {
		a.logger().Info(text)
		return
	}
	fmt.Fprintln(a.stderr, term.Flow(paragraph(text)))
}

// warn writes a text that the user should read, although nothing failed.
func (a *app) warn(text string) {
	if a.log == "json" {
		a.logger().Warn(text)
		return
	}
	fmt.Fprintln(a.stderr, term.Flow("hogimport: "+term.Warning("warning")+": "+paragraph(text)))
}

func variable(f *pflag.Flag) string {
	return "HOGIMPORT_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// isCommon reports whether a flag is cobra's own.
func isCommon(f *pflag.Flag) bool { return f.Name == "help" || f.Name == "version" }

// version returns the version of the module, or else the revision that the program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(len(s.Value), 12)]
		}
	}
	return "devel"
}

// canAnswer reports whether a person can read a question and answer it.
func (a *app) canAnswer() bool { return term.IsTerminal(a.stdin) && term.IsTerminal(a.stderr) }

// ask asks a question. Only y and yes mean yes.
func (a *app) ask(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(a.stderr, term.Flow(question+" [y/N] "))
	answer := make(chan string, 1)
	go func() { // which ends with the program: a read of a terminal cannot be ended
		line, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answer <- line
	}()
	select {
	case line := <-answer:
		word := strings.ToLower(strings.TrimSpace(line))
		return word == "y" || word == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(a.stderr)
		return false, context.Cause(ctx)
	}
}

// meter returns a meter of progress: a bar on a terminal, otherwise lines.
func (a *app) meter() *progress.Meter {
	form := progress.Lines
	switch {
	case a.log == "json":
		form = progress.JSON
	case term.IsTerminal(a.stderr) && a.env("TERM") != "dumb":
		form = progress.Bar
	}
	return progress.New(a.stderr, form, a.stderr.Width, time.Now)
}

// setHelp makes the help of all commands list the flags in 80 columns, with their variables.
func setHelp(root *cobra.Command) {
	cobra.AddTemplateFunc("flagList", flagList)
	root.SetUsageTemplate(strings.NewReplacer(
		".LocalFlags.FlagUsages | trimTrailingWhitespaces", ".LocalFlags | flagList",
		".InheritedFlags.FlagUsages | trimTrailingWhitespaces", ".InheritedFlags | flagList",
	).Replace(root.UsageTemplate()))
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := cmd.OutOrStdout()
		var text bytes.Buffer
		cmd.SetOut(&text)
		help(cmd, args)
		cmd.SetOut(out)
		fmt.Fprint(out, term.Flow(text.String())) // also for cobra's own texts
	})
}

// flagList returns the help of flags: for each, a line with the name and the variable, then the usage.
func flagList(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, what := pflag.UnquoteUsage(f)
		name := "  --" + f.Name
		if f.Shorthand != "" {
			name += ", -" + f.Shorthand
		}
		switch {
		case f.Value.Type() == "bool":
		case value != "":
			name += " " + value
		}
		if isCommon(f) {
			fmt.Fprintf(&b, "%s\n", name)
		} else {
			fmt.Fprintf(&b, "%s%*s\n", name, term.DefaultWidth-len([]rune(name)), "$"+variable(f))
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
			what += " (default " + f.DefValue + ")"
		}
		fmt.Fprintln(&b, "      "+strings.ReplaceAll(what, "\n", "\n      "))
	})
	return strings.TrimRight(b.String(), "\n")
}

// completeValues lets a shell complete the values of flags with few possible values.
func completeValues(root *cobra.Command) {
	values := map[string][]string{
		"format": slices.Sorted(maps.Keys(vendors)), "set-policy": {"keep", "set-once", "strip"}, "protocol": {"auto", "v1", "batch"},
		"log": {"text", "json"}, "host": {"us", "eu"}, "rate": {"1000", "none"}, "max-rejects": {"1%", "none"},
	}
	for _, cmd := range append(root.Commands(), root) {
		for flag, list := range values {
			if cmd.Flags().Lookup(flag) != nil || cmd.PersistentFlags().Lookup(flag) != nil {
				_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
			}
		}
	}
}

// errInterrupted is the cause of a context that a signal has ended.
var errInterrupted = errors.New("interrupted")

// interrupts handle Ctrl-C and SIGTERM. The first signal asks a command to finish the requests under way, or
// ends the context if the command cannot; the second one always ends the context, and the third ends the
// program.
type interrupts struct {
	signals chan os.Signal
	done    chan struct{}
	cancel  context.CancelCauseFunc

	mu     sync.Mutex
	gently func() // nil: the first one ends the context
}

func watchInterrupts(ctx context.Context) (context.Context, *interrupts) {
	ctx, cancel := context.WithCancelCause(ctx)
	i := &interrupts{signals: make(chan os.Signal, 3), done: make(chan struct{}), cancel: cancel}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	go i.watch()
	return ctx, i
}

func (i *interrupts) watch() {
	for {
		select {
		case <-i.done:
			return
		case <-i.signals:
		}
		i.mu.Lock()
		gently := i.gently
		i.gently = nil
		i.mu.Unlock()
		if gently != nil {
			gently()
			continue
		}
		i.cancel(errInterrupted)
		signal.Stop(i.signals) // a further one ends the program
	}
}

// first makes the first signal call a function instead of ending the context. The returned function undoes
// this.
func (i *interrupts) first(gently func()) (restore func()) {
	set := func(f func()) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.gently = f
	}
	set(gently)
	return func() { set(nil) }
}

func (i *interrupts) end() {
	signal.Stop(i.signals)
	close(i.done)
	i.cancel(nil)
}

// stoppable is a source that ends with errInterrupted on request: the import then settles the events that it
// has taken.
type stoppable struct {
	hogapi.Source
	asked context.Context //nolint:containedctx // it stands for the wish to stop, not for a call
}

// Unwrap returns the source.
func (s stoppable) Unwrap() hogapi.Source { return s.Source }

// Events implements hogapi.Source.
func (s stoppable) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(s.asked, func() { cancel(errInterrupted) })() //nolint:contextcheck // another wish than ctx
		for ev, err := range s.Source.Events(ctx, after) {
			if s.asked.Err() != nil {
				break
			}
			if !yield(ev, err) {
				return
			}
		}
		if s.asked.Err() != nil {
			yield(hogapi.Event{}, errInterrupted)
		}
	}
}
