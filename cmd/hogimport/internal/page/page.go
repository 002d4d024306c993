// Package page writes the reports of hogimport as HTML pages, in the form that the pages of all commands have.
package page

import (
	"embed"
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"time"

	"github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/event"
)

//go:embed check.html web.html verify.html
var files embed.FS

var templates = page.Templates(files, template.FuncMap{"explained": Explained})

func frame(kind, subject string) page.Frame {
	return page.Frame{Program: "hogimport", Kind: kind, Subject: subject}
}

// Rounded returns an estimate with two significant digits.
func Rounded(n int64) int64 {
	scale := int64(1)
	for n/scale >= 100 {
		scale *= 10
	}
	return (n + scale/2) / scale * scale
}

func verb(n int64, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// libraryWords replaces words of the library.
var libraryWords = strings.NewReplacer(
	", with Wait or the same Dir", "", "VerifyOptions.Source", "the source files", "give Source and Rejects", "verify with the source files",
	" looks", " checks", "the last look", "the last check", "have seen so many: it takes", "have found the same number: it takes",
	"a Source settles it", "verifying with the source files settles it", "A Source shows", "The source files show", "A Source settles it", "Verifying with the source files settles it",
	"verify with Source, Gate and all Rejects of the import", "verify with the source files",
)

// flagNames replaces names of the library by flags.
var flagNames = strings.NewReplacer(
	"WithProjectAPIKey", "POSTHOG_PROJECT_API_KEY", "WithPersonalAPIKey", "POSTHOG_PERSONAL_API_KEY",
	"WithRegion(RegionUS) or WithRegion(RegionEU), or WithBaseURL for a server of your own", "--host us, eu or a URL",
	"WithCaptureURL", "--capture-host", "WithBaseURL", "--host", "WithProject", "--project-id",
	"Options.ID", "--import-id", "Options.Rate", "--rate",
	"MaxRejectShare (-1 is no limit) or MaxRejects", "--max-rejects (a number, a share such as 2%, or none)",
	"MaxRejectShare", "--max-rejects", "MaxRejects", "--max-rejects",
	"in Options.Map", "with --map", "in Options.Header", "with --header", "Options.Map", "--map", "Options.Zone", "--zone", "Options.Table", "--table", "Options.Event", "--table", "Options.Header", "--header",
	"import: LinksOptions.Memory", "--memory", "Options.", "", "hogapi: ", "",
	" (GateOptions.MinAge)", "", "GateOptions.AllowMergeDangerously: it", "another name, since hogimport does not send this: it",
	", or set VerifyOptions.Dir, and verify again", ", and verify again", " with the same Dir", "", "VerifyOptions.Dir", "the state folder", "MaxBytesRead", "--max-read",
	"; if a proxy takes smaller requests only, set DeliveryOptions.MaxBatchBytes", "; a proxy may take smaller requests only",
	"give its Convert to history.Rejected", "use hogimport fix", "give history.Rejected to history.Map, or ", "",
	"read the file with history.Rejected", "use hogimport fix",
)

// InFlags returns a text of the library in the words of this program.
func InFlags(text string) string { return flagNames.Replace(text) }

var (
	goDuration   = regexp.MustCompile(`\b(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?s\b`)
	doubledStops = regexp.MustCompile(`\.([;:,])( |$)`)
)

// Plain returns a text of the library with durations and punctuation as people write them.
func Plain(text string) string {
	text = goDuration.ReplaceAllStringFunc(text, func(found string) string {
		d, err := time.ParseDuration(found)
		if err != nil {
			return found
		}
		return progress.Words(d)
	})
	return doubledStops.ReplaceAllString(text, "$1$2")
}

// Explained returns a text of the library as sentences for the reader of a page.
func Explained(text string) string {
	text = page.Sentence(libraryWords.Replace(Plain(page.Shown(text))))
	if text != "" && !strings.ContainsAny(text[len(text)-1:], ".?!…") {
		text += "."
	}
	return text
}

// Duration returns a number of hours in words, to the minute.
func Duration(hours float64) string {
	d := time.Duration(hours * float64(time.Hour)).Round(time.Minute)
	if d < time.Minute {
		return "less than a minute"
	}
	return progress.Words(d)
}

// span returns the years, months or days in UTC between two times, in words.
func span(oldest, newest time.Time) string {
	const day = 24 * time.Hour
	days := int64(newest.UTC().Truncate(day).Sub(oldest.UTC().Truncate(day))/day) + 1
	switch {
	case days > 730:
		return fmt.Sprintf("%.1f years", float64(days)/365.25)
	case days > 90:
		return fmt.Sprintf("%.0f months", float64(days)/30.44)
	}
	return page.Plural(days, "UTC day", "UTC days")
}

// Example returns the place of a reject and its text.
func Example[T ~string](reason T, e event.Example) string {
	text := strings.TrimPrefix(Plain(InFlags(e.Text)), "event refused: "+string(reason)+": ")
	if place := e.Position.String(); !e.Position.IsZero() && !strings.Contains(text, e.Position.Key) {
		text = place + " " + text
	}
	return page.Shown(text)
}
