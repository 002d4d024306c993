package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/term"
)

// Count returns a number with commas, and with a typographic minus.
func Count[T int | int64](n T) string {
	return strings.Replace(progress.Number(int64(n)), "-", "−", 1)
}

// Plural returns a number with its noun.
func Plural(n int64, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + several
}

// Sentence returns a text with a capital letter.
func Sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// Share returns a part of a whole in percent.
func Share(part, whole int64) string {
	const percent = 100
	switch p := percent * float64(part) / float64(max(whole, 1)); {
	case part == 0:
		return "0 %"
	case p < 0.1:
		return "< 0.1 %"
	case part < whole && p > 99.9:
		return "> 99.9 %"
	case part == whole:
		return "100 %"
	default:
		return fmt.Sprintf("%.1f %%", p)
	}
}

// Moment returns a time in UTC.
func Moment(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

const longest = 300 // runes of a text that is shown in a line

// Shown returns a foreign text as a page shows it: in one line, with all characters visible, without keys, and
// not too long. The template escapes it for HTML.
func Shown[T ~string](s T) string {
	text := term.Line(s)
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
	}
	if text == "" {
		return "(empty)"
	}
	return text
}

// Pretty returns JSON with a line for each value; other texts stay as they are.
func Pretty(s string) string {
	const most = 4000
	var b bytes.Buffer
	if json.Indent(&b, []byte(s), "", "  ") == nil {
		s = b.String()
	}
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "\n…"
	}
	return term.Clean(s)
}
