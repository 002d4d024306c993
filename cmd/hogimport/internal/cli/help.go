package cli

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/term"
)

// setHelp gives all commands a list of flags that is narrow and names their variables.
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

// flagList is the help of flags: a line with the name and the variable, then the usage.
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

// completeValues has a shell complete the values of flags that take one of a few.
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
