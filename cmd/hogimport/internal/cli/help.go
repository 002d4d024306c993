package cli

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is how wide help texts and messages are, in columns.
const helpWidth = 80

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
		fmt.Fprint(out, wrapped(text.String())) // also what cobra says itself
	})
}

// flagList is the help of flags: a line with the name and the variable, then what it does.
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
			fmt.Fprintf(&b, "%s%*s\n", name, helpWidth-len([]rune(name)), "$"+variable(f))
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
			what += " (default " + f.DefValue + ")"
		}
		fmt.Fprintln(&b, wrapped("      "+strings.ReplaceAll(what, "\n", "\n      ")))
	})
	return strings.TrimRight(b.String(), "\n")
}

// wrapped breaks lines that are wider than helpWidth at blanks, and indents what follows as the line is.
func wrapped(text string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		for utf8.RuneCountInString(line) > helpWidth {
			at := breakAt(line, len(indent))
			if at < 0 {
				break
			}
			out = append(out, strings.TrimRight(line[:at], " "))
			line = indent + strings.TrimLeft(line[at:], " ")
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// breakAt is the last blank of a line that leaves what is before it narrow enough, else the first one, or -1.
func breakAt(line string, indent int) int {
	last, column := -1, 0
	for at, r := range line {
		if r == ' ' && at >= indent {
			if column > helpWidth && last >= 0 {
				break
			}
			last = at
			if column > helpWidth {
				break
			}
		}
		column++
	}
	return last
}
