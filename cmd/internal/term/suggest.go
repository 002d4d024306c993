package term

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// DidYouMean returns a question about a flag that a command does not have, if it has a similar flag.
func DidYouMean(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return ""
	}
	wrong := unknown.GetSpecifiedName()
	names := &cobra.Command{SuggestionsMinimumDistance: 1} // it finds similar names
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	found := names.SuggestionsFor(wrong)
	names.SuggestionsMinimumDistance = 2
	for _, name := range names.SuggestionsFor(wrong) {
		if name[0] == wrong[0] && !slices.Contains(found, name) { // not --host for --sort
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "did you mean --" + strings.Join(found, " or --") + "? Or "
}
