// Package term writes texts for people: on terminals of any width, and into files. It shows names
// that others chose, such as files and events, without letting them act on the terminal, and it
// knows nothing of imports.
package term

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// DefaultWidth is the width of texts without a terminal, in columns.
const DefaultWidth = 80

// Marks set the style of a part of a text. A foreign text with such marks can change its own style, and nothing
// else.
const (
	flow    = '\x01' // begins a line that is wrapped at blanks
	command = '\x02' // begins a line that is a command of a shell
	problem = '\x03'
	warning = '\x04'
	end     = '\x05' // of a color
	marks   = "\x01\x02\x03\x04\x05"
)

// Flow wraps the lines of a text at blanks to the width of the screen, and keeps their indentation.
func Flow(text string) string {
	return string(flow) + strings.ReplaceAll(text, "\n", "\n"+string(flow))
}

// Command returns a command with line breaks that a shell reads as one command.
func Command(text string) string { return string(command) + text }

// Problem colors the text of a problem on a terminal.
func Problem(text string) string { return string(problem) + text + string(end) }

// Warning colors the text of a warning on a terminal.
func Warning(text string) string { return string(warning) + text + string(end) }

// Screen writes marked texts: see [Clean]. A write must have whole lines, or the end of a line.
type Screen struct {
	out      io.Writer
	file     *os.File // nil: no terminal
	hasColor bool
	isRaw    bool
	failed   error
}

// NewScreen returns a screen that writes to a terminal or, without colors and the width of a terminal, to a
// file or a pipe.
func NewScreen(out io.Writer, env func(string) string) *Screen {
	s := &Screen{out: out}
	if f, ok := out.(*os.File); ok && IsTerminal(f) {
		s.file = f
		s.hasColor = env("NO_COLOR") == "" && env("TERM") != "dumb"
	}
	return s
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	if s, ok := stream.(*Screen); ok {
		return s.file != nil
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// ForPrograms makes the screen write lines in their full length, such as lines of JSON.
func (s *Screen) ForPrograms() { s.isRaw = true }

// Raw returns the stream itself, to draw on it.
func (s *Screen) Raw() io.Writer { return s.out }

// Width returns the width of the terminal in columns.
func (s *Screen) Width() int {
	const least = 20
	if s.file != nil {
		if columns, _, err := term.GetSize(int(s.file.Fd())); err == nil && columns > 0 {
			return max(columns, least)
		}
	}
	return DefaultWidth
}

// Failed returns the first error of a write, or nil.
func (s *Screen) Failed() error { return s.failed }

// Write implements io.Writer. It returns no error, so that its caller continues: see [Screen.Failed].
func (s *Screen) Write(p []byte) (int, error) {
	lines := strings.Split(clean(string(p), "\n\t"+marks), "\n")
	for i, line := range lines {
		lines[i] = s.line(line)
	}
	if _, err := io.WriteString(s.out, strings.Join(lines, "\n")); err != nil && s.failed == nil {
		s.failed = err
	}
	return len(p), nil
}

// line returns a line as it is shown.
func (s *Screen) line(text string) string {
	kind, width := rune(0), s.Width()
	if text != "" && (text[0] == flow || text[0] == command) {
		kind, text = rune(text[0]), text[1:]
	}
	switch {
	case kind == command && runtime.GOOS == "windows": // its shells do not continue a line after a backslash
	case kind == command:
		text = broken(text, width)
	case s.isRaw, kind != flow && s.file == nil: // such as a table in a file
	default:
		text = Wrapped(text, width)
	}
	color := map[rune]string{problem: "\x1b[31m", warning: "\x1b[33m", end: "\x1b[0m"}
	if !strings.ContainsAny(text, marks) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !strings.ContainsRune(marks, r):
			b.WriteRune(r)
		case s.hasColor:
			b.WriteString(color[r])
		}
	}
	return b.String()
}

// Columns returns the width of a text on a terminal.
func Columns(text string) int { return runewidth.StringWidth(text) }

// Padded returns a text with a width: cut, or filled with blanks.
func Padded(text string, width int) string {
	return runewidth.FillRight(Cut(text, width), width)
}

// Cut shortens a text that is too wide.
func Cut(text string, width int) string { return runewidth.Truncate(text, width, "…") }

// Wrapped breaks a line that is too wide at blanks, and indents the rest like the line. A word that
// is too long stays whole.
func Wrapped(text string, width int) string {
	if Columns(text) <= width {
		return text
	}
	rest := strings.TrimLeft(text, " ")
	indent := text[:len(text)-len(rest)]
	var done []string
	line, blanks := indent, ""
	for rest != "" {
		word, more, _ := strings.Cut(rest, " ")
		if line != indent && Columns(line+blanks+word) > width {
			done, line, blanks = append(done, line), indent, ""
		}
		line += blanks + word
		rest = strings.TrimLeft(more, " ")
		blanks = strings.Repeat(" ", 1+len(more)-len(rest))
	}
	if strings.HasSuffix(text, " ") {
		line += " " // of a question
	}
	return strings.Join(append(done, line), "\n")
}

// broken returns a command on several lines that a shell reads as one. Words in quotes and comments stay whole.
func broken(text string, width int) string {
	const next, end = "  ", ` \`
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var words []string
	quote := rune(0)
	for part := range strings.SplitSeq(text[len(indent):], " ") {
		if quote == 0 {
			words = append(words, part)
		} else {
			words[len(words)-1] += " " + part
		}
		quote = quoteAfter(part, quote)
	}
	var done []string
	line := indent + words[0]
	for i, word := range words[1:] {
		more := line + " " + word
		if i < len(words)-2 {
			more += end
		}
		if Columns(more) <= width {
			line += " " + word
			continue
		}
		done = append(done, line+end)
		line = indent + next + word
	}
	return strings.Join(append(done, line), "\n")
}

// quoteAfter returns the quote that is open after a word of a command, # in a comment, or zero.
func quoteAfter(word string, quote rune) rune {
	if quote == 0 && strings.HasPrefix(word, "#") {
		return '#'
	}
	isEscaped := false
	for _, r := range word {
		switch {
		case isEscaped:
			isEscaped = false
		case r == '\\' && quote != '\'' && quote != '#':
			isEscaped = true
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote && quote != '#':
			quote = 0
		}
	}
	return quote
}

// No key begins with php_, and many names do.
var keys = regexp.MustCompile(`\bph([a-oq-z])_[A-Za-z0-9_-]{8,}`)

// Joiners belong to words of some languages, and to emoji.
const nonJoiner, joiner = '\u200c', '\u200d'

// Clean returns a text without keys of PostHog, and with codes in place of characters that control a terminal,
// cannot be seen, or change the order of others. Ends of lines and tabs stay.
func Clean(s string) string { return clean(s, "\n\t") }

// Line is Clean for a text of one line.
func Line[T ~string](s T) string { return clean(string(s), "") }

func clean(s, keep string) string {
	s = keys.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "ph${1}_…")
	isSeen := func(r rune) bool {
		isText := unicode.IsGraphic(r) && !unicode.Is(unicode.Zl, r) && !unicode.Is(unicode.Zp, r)
		return isText || r == joiner || r == nonJoiner || strings.ContainsRune(keep, r)
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return !isSeen(r) }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch high, low := utf16.EncodeRune(r); {
		case isSeen(r):
			b.WriteRune(r)
		case high != unicode.ReplacementChar: // as JSON writes it
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
