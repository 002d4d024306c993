package shell

import (
	"bytes"
	"fmt"
	"strings"

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
func (a *App) variable(f *pflag.Flag) string {
	return strings.ToUpper(a.Name) + "_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// isCommon reports whether a flag is cobra's own.
func isCommon(f *pflag.Flag) bool { return f.Name == "help" || f.Name == "version" }

// setHelp makes the help of all commands list the flags in 80 columns, with their variables.
func (a *App) setHelp(root *cobra.Command) {
	cobra.AddTemplateFunc("flagList", a.flagList)
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
func (a *App) flagList(flags *pflag.FlagSet) string {
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
			fmt.Fprintf(&b, "%s%*s\n", name, term.DefaultWidth-len([]rune(name)), "$"+a.variable(f))
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" && f.DefValue != "0s" {
			what += " (default " + f.DefValue + ")"
		}
		fmt.Fprintln(&b, "      "+strings.ReplaceAll(what, "\n", "\n      "))
	})
	return strings.TrimRight(b.String(), "\n")
}
