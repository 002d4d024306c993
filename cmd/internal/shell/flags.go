package shell

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hogapi/hogapi/cmd/internal/term"
)

// Complete lets a shell complete the values of flags with few possible values.
func Complete(root *cobra.Command, values map[string][]string) {
	values["log"] = []string{"text", "json"}
	for _, cmd := range append(root.Commands(), root) {
		for flag, list := range values {
			if cmd.Flags().Lookup(flag) != nil || cmd.PersistentFlags().Lookup(flag) != nil {
				_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
			}
		}
	}
}

// variable returns the environment variable of a flag.
func variable(app string, f *pflag.Flag) string {
	return strings.ToUpper(app) + "_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// hasVariable reports whether a flag takes its value from the environment too. Cobra's own flags do not.
func hasVariable(f *pflag.Flag) bool {
	return f.Name != "help" && f.Name != "version" && f.Annotations[noVariable] == nil
}

const noVariable = "no variable"

// WithoutVariable makes flags that the environment does not set: a flag of this name means something else in another
// command.
func WithoutVariable(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		_ = cmd.Flags().SetAnnotation(name, noVariable, []string{""}) // there is such a flag
	}
}

// Given returns the flags of these names that were given, as they can be typed again.
func Given(flags *pflag.FlagSet, names ...string) string {
	var text strings.Builder
	for _, name := range names {
		f := flags.Lookup(name)
		if f == nil || !f.Changed || f.Value.String() == "" {
			continue
		}
		list, isList := f.Value.(pflag.SliceValue)
		switch {
		case isList:
			for _, value := range list.GetSlice() {
				text.WriteString(" --" + name + " " + Quoted(value))
			}
		case f.Value.Type() == "bool" && f.Value.String() == "true":
			text.WriteString(" --" + name)
		case f.Value.Type() == "bool":
			text.WriteString(" --" + name + "=false")
		default:
			text.WriteString(" --" + name + " " + Quoted(f.Value.String()))
		}
	}
	return text.String()
}

// setHelp makes the help of all commands list the flags in 80 columns, with their variables.
func (a *App) setHelp(root *cobra.Command) {
	addFlagList()
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages | trimTrailingWhitespaces", fmt.Sprintf("Flags | flagList %q", a.Name)))
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := cmd.OutOrStdout()
		var text bytes.Buffer
		cmd.SetOut(&text)
		help(cmd, args)
		cmd.SetOut(out)
		lines, examples := strings.Split(text.String(), "\n"), strings.Split(cmd.Example, "\n")
		for i, line := range lines {
			if lines[i] = term.Flow(line); line != "" && slices.Contains(examples, line) {
				lines[i] = term.Command(line)
			}
		}
		fmt.Fprint(out, strings.Join(lines, "\n"))
	})
}

// addFlagList makes flagList known to templates, once: cobra keeps its functions in a map without a lock.
var addFlagList = sync.OnceFunc(func() { cobra.AddTemplateFunc("flagList", flagList) })

// flagList returns the help of the flags of an app: for each, a line with the name and the variable, then the usage.
func flagList(app string, flags *pflag.FlagSet) string {
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
		if !hasVariable(f) {
			fmt.Fprintf(&b, "%s\n", name)
		} else {
			fmt.Fprintf(&b, "%s%*s\n", name, term.DefaultWidth-len([]rune(name)), "$"+variable(app, f))
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" && f.DefValue != "0s" {
			what += " (default " + f.DefValue + ")"
		}
		fmt.Fprintln(&b, "      "+strings.ReplaceAll(what, "\n", "\n      "))
	})
	return strings.TrimRight(b.String(), "\n")
}

// didYouMean returns a question about a flag that a command does not have, if it has a similar flag.
func didYouMean(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	found := Similar(unknown.GetSpecifiedName(), names)
	if len(found) == 0 {
		return ""
	}
	return "did you mean --" + strings.Join(found, " or --") + "? Or "
}

// Similar returns the names that a wrong one may stand for, the nearest first.
func Similar(wrong string, names []string) []string {
	all := &cobra.Command{SuggestionsMinimumDistance: 1} // it finds similar names
	for _, name := range names {
		all.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	found := all.SuggestionsFor(wrong)
	all.SuggestionsMinimumDistance = 2
	for _, name := range all.SuggestionsFor(wrong) {
		if wrong != "" && name[0] == wrong[0] && !slices.Contains(found, name) { // not --host for --sort
			found = append(found, name)
		}
	}
	return found
}
