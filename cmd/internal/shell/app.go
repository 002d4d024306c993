// Package shell has everything that the commands share: streams, flags with environment variables, help, exit
// codes, errors with advice, questions, and signals.
package shell

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/term"
)

// App is a program of several commands.
type App struct {
	Name    string // of the program
	In      io.Reader
	Out     *term.Screen // results: tables, and JSON with --json
	Err     *term.Screen // progress, warnings, questions
	Env     func(name string) string
	Explain func(error) *Fault // explains an error to the user
	Signals *Interrupts

	JSON bool   // --json
	Log  string // --log: "text" or "json"
}

// New returns a program with its streams, and a context that signals end. Call Signals.End when it ends.
func New(ctx context.Context, name string, stdin io.Reader, stdout, stderr io.Writer, env func(string) string, explain func(error) *Fault) (*App, context.Context) {
	a := &App{Name: name, In: stdin, Out: term.NewScreen(stdout, env), Err: term.NewScreen(stderr, env), Env: env, Explain: explain}
	ctx, a.Signals = watchInterrupts(ctx)
	return a, ctx
}

// Root returns the root command of the program, with its common flags. Call Complete after all commands are added.
func (a *App) Root(short, long, example string) *cobra.Command {
	root := &cobra.Command{
		Use: a.Name, Short: short, Long: long, Example: example, Version: Version(), SilenceUsage: true, SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.begin(cmd) },
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetVersionTemplate(a.Name + " {{.Version}}" + build() + "\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return UsageError(fmt.Sprintf("%v", err), didYouMean(cmd, err)+"see "+cmd.CommandPath()+" --help")
	})
	root.PersistentFlags().BoolVar(&a.JSON, "json", false, "print results as JSON")
	root.PersistentFlags().StringVar(&a.Log, "log", "text", "the `FORM` of progress, warnings and errors: text or json")
	root.SuggestionsMinimumDistance = 2
	a.setHelp(root)
	return root
}

// begin takes flags from the environment and checks the flags of all commands.
func (a *App) begin(cmd *cobra.Command) error {
	var err error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value := a.Env(variable(a.Name, f))
		if f.Changed || value == "" || err != nil || !hasVariable(f) {
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
			err = UsageError(fmt.Sprintf("%s: %v", variable(a.Name, f), bad), "see "+cmd.CommandPath()+" --help")
		}
	})
	if err != nil {
		return err
	}
	if a.Log != "text" && a.Log != "json" {
		return UsageError(fmt.Sprintf("--log %q is not supported", a.Log), "give text or json")
	}
	if a.JSON {
		a.Out.ForPrograms()
	}
	if a.Log == "json" {
		a.Err.ForPrograms()
	}
	return nil
}

// Logger writes lines for programs with --log json, and nothing otherwise.
func (a *App) Logger() *slog.Logger {
	if a.Log == "json" {
		return slog.New(slog.NewJSONHandler(a.Err, nil))
	}
	return slog.New(slog.DiscardHandler)
}

// Note writes a line about the work under way.
func (a *App) Note(text string) {
	if a.Log == "json" {
		a.Logger().Info(text)
		return
	}
	fmt.Fprintln(a.Err, term.Flow(Paragraph(text)))
}

// Warn writes a text that the user should read, although nothing failed.
func (a *App) Warn(text string) {
	if a.Log == "json" {
		a.Logger().Warn(text)
		return
	}
	fmt.Fprintln(a.Err, term.Flow(a.Name+": "+term.Warning("warning")+": "+Paragraph(text)))
}

// Version returns the version of the module, or else the revision that the program was built from.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	if commit, _ := commitOf(info); commit != "" {
		return "devel-" + commit
	}
	return "devel"
}

// build returns the commit and its date, if the program was built from a checkout, and the version of Go.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	text := info.GoVersion
	if commit, date := commitOf(info); commit != "" {
		text = "commit " + commit + ", " + date + ", " + text
	}
	return " (" + text + ")"
}

// commitOf returns the first digits of the commit, and its date.
func commitOf(info *debug.BuildInfo) (commit, date string) {
	const enough = 12
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value[:min(len(s.Value), enough)]
		case "vcs.time":
			date = s.Value
		}
	}
	return commit, date
}

// CanAnswer reports whether a person can read a question and answer it.
func (a *App) CanAnswer() bool { return term.IsTerminal(a.In) && term.IsTerminal(a.Err) }

// Ask asks a question. Only y and yes mean yes.
func (a *App) Ask(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(a.Err, term.Flow(question+" [y/N] "))
	answer := make(chan string, 1)
	go func() { // which ends with the program: a read of a terminal cannot be ended
		line, _ := bufio.NewReader(a.In).ReadString('\n')
		answer <- line
	}()
	select {
	case line := <-answer:
		word := strings.ToLower(strings.TrimSpace(line))
		return word == "y" || word == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(a.Err)
		return false, context.Cause(ctx)
	}
}

// Consent asks a question, and returns the error no unless the answer is yes.
func (a *App) Consent(ctx context.Context, question string, no error) error {
	yes, err := a.Ask(ctx, question)
	if err == nil && !yes {
		return no
	}
	return err
}

// Meter returns a meter of progress: a bar on a terminal, otherwise lines.
func (a *App) Meter() *progress.Meter {
	form := progress.Lines
	switch {
	case a.Log == "json":
		form = progress.JSON
	case term.IsTerminal(a.Err) && a.Env("TERM") != "dumb":
		form = progress.Bar
	}
	return progress.New(a.Err, form, a.Err.Width, time.Now)
}
