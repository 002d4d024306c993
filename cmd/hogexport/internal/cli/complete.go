package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi/cmd/internal/term"
)

// completeNames lets a shell complete the names of exports.
func (a *app) completeNames(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if strings.Contains(cmd.Use, "EXPORT") {
			isOne := !strings.Contains(cmd.Use, "…")
			cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
				if isOne && len(args) > 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return a.names(cmd.Context(), args)
			}
		}
		if cmd.Flags().Lookup("of") != nil {
			_ = cmd.RegisterFlagCompletionFunc("of", func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) { // there is such a flag
				return a.names(cmd.Context(), nil)
			})
		}
	}
}

// names completes the exports of the project, except the given ones, with a description of each. If the project does
// not answer in time, there are no completions.
func (a *app) names(ctx context.Context, given []string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	const patience = 5 * time.Second
	ctx, end := context.WithTimeout(ctx, patience)
	defer end()
	client, err := a.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	exports, err := listed(ctx, client)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for i, name := range handles(exports, nil) {
		if !slices.Contains(given, name) {
			names = append(names, cobra.CompletionWithDesc(term.Line(name), strings.Trim(traits(&exports[i]), "()")))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
