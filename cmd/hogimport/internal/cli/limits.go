package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
)

// limits is how much may be rejected: --max-rejects.
type limits struct{ text string }

func (l *limits) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.text, "max-rejects", "1%", "how much may be rejected: a `NUMBER` of events, a share such\nas 2%, or none for no limit")
}

// String is the limit as the user has written it.
func (l *limits) String() string { return l.text }

// apply sets the limits of an import.
func (l *limits) apply(o *hogapi.ImportOptions) error {
	const percent = 100
	bad := usageError(fmt.Sprintf("--max-rejects %q is neither a number nor a share", l.text), "give a number such as 500, a share such as 2%, or none")
	if l.text == "none" {
		o.MaxRejectShare = -1
		return nil
	}
	if text, isShare := strings.CutSuffix(l.text, "%"); isShare {
		share, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || share < 0 || share > percent {
			return bad
		}
		if o.MaxRejectShare = share / percent; share == 0 {
			o.MaxRejectShare, o.MaxRejects = -1, 0
			return usageError("--max-rejects 0% has no meaning", "give 1 to stop at the second reject, or a small share such as 0.01%")
		}
		return nil
	}
	n, err := strconv.ParseInt(l.text, 10, 64)
	if err != nil || n < 1 {
		return bad
	}
	o.MaxRejectShare, o.MaxRejects = -1, n
	return nil
}
