package download

import (
	"cmp"
	"regexp"
	"strconv"
	"time"

	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Check refuses a progress that no writer can have.
func (p Progress) Check() *ops.InputError {
	return cmp.Or(
		outgoing.If(p.At < 0, "Offset", strconv.FormatInt(p.At, 10), "0 or more"),
		outgoing.If(p.Size > 0 && p.Size < p.At, "Size", strconv.FormatInt(p.Size, 10), "not less than Offset"),
	)
}

// CheckInterval refuses an interval of data that is reversed or too long. Either end may be zero.
func CheckInterval(start, end time.Time) *ops.InputError {
	const longest = 7 * 24 * time.Hour
	hasBoth := !start.IsZero() && !end.IsZero()
	return cmp.Or(
		outgoing.If(hasBoth && end.Before(start), "DataIntervalEnd", end.String(), "not earlier than DataIntervalStart"),
		outgoing.If(hasBoth && end.Sub(start) > longest, "DataIntervalEnd", end.String(),
			"at most 7 days after DataIntervalStart: split a longer range"),
	)
}

var (
	extensionForm = regexp.MustCompile(`^(\.[A-Za-z0-9]+)*$`)
	ownEnding     = regexp.MustCompile(`(?i)\.(part|part\.size|tmp|hogapi-tmp|lock)$`)
)

// CheckNames refuses an empty folder name, and an extension that is invalid or used for other files
// here.
func CheckNames(folder, extension string) *ops.InputError {
	return cmp.Or(
		outgoing.If(folder == "", "folder", "", "the name of a folder"),
		outgoing.If(!extensionForm.MatchString(extension), "Extension", extension, `an extension such as ".parquet" or ".jsonl.gz"`),
		outgoing.If(ownEnding.MatchString(extension), "Extension", extension, "another ending: DownloadAll uses this one for its own files"),
	)
}
