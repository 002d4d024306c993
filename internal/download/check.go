package download

import (
	"regexp"
	"strconv"

	"github.com/hogapi/hogapi/internal/outgoing"
)

// Check refuses a progress that no writer can have.
func (p Progress) Check() *outgoing.Refusal {
	switch {
	case p.At < 0:
		return outgoing.Refuse("Offset", strconv.FormatInt(p.At, 10), "0 or more")
	case p.Size > 0 && p.Size < p.At:
		return outgoing.Refuse("Size", strconv.FormatInt(p.Size, 10), "not less than Offset")
	}
	return nil
}

var (
	extensionForm = regexp.MustCompile(`^(\.[A-Za-z0-9]+)*$`)
	ownEnding     = regexp.MustCompile(`(?i)\.(part|part\.size|tmp|hogapi-tmp|lock)$`)
)

// CheckNames refuses an empty folder name, and an extension that is invalid or used for other files
// here.
func CheckNames(folder, extension string) *outgoing.Refusal {
	switch {
	case folder == "":
		return outgoing.Refuse("folder", "", "the name of a folder")
	case !extensionForm.MatchString(extension):
		return outgoing.Refuse("Extension", extension, `an extension such as ".parquet" or ".jsonl.gz"`)
	case ownEnding.MatchString(extension):
		return outgoing.Refuse("Extension", extension, "another ending: DownloadAll uses this one for its own files")
	}
	return nil
}
