package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// screen prints the progress of the program: on a terminal in colour and with a bar, elsewhere as plain
// lines.
type screen struct {
	out      io.Writer
	terminal bool
	colour   bool // unless NO_COLOR is set: see no-color.org
	step     int
	drawn    time.Time // when the bar was last drawn; zero if it is not drawn
}

func newScreen(out io.Writer) *screen {
	s := &screen{out: out}
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		s.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	}
	s.colour = s.terminal && os.Getenv("NO_COLOR") == ""
	return s
}

const (
	bold  = "1"
	red   = "31"
	green = "32"
	cyan  = "36"
)

func (s *screen) paint(colour, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (s *screen) begin(title string) {
	s.step++
	fmt.Fprintf(s.out, "\n%s\n", s.paint(bold, fmt.Sprintf("%d. %s", s.step, title)))
}

func (s *screen) done(format string, args ...any)   { s.line(s.paint(green, "✓"), format, args...) }
func (s *screen) failed(format string, args ...any) { s.line(s.paint(red, "✗"), format, args...) }

func (s *screen) line(mark, format string, args ...any) {
	s.clear()
	fmt.Fprintf(s.out, "   %s %s\n", mark, fmt.Sprintf(format, args...))
}

// bar draws a part from 0 to 1. Without a terminal it prints a line, at most one a second.
func (s *screen) bar(part float64, text string) {
	switch {
	case s.terminal:
		const width = 30
		full := int(width * min(max(part, 0), 1))
		drawing := s.paint(cyan, strings.Repeat("█", full)) + strings.Repeat("░", width-full)
		fmt.Fprintf(s.out, "\r\x1b[K   %s %3.0f %%  %s", drawing, 100*part, text)
	case time.Since(s.drawn) < time.Second:
		return
	default:
		fmt.Fprintf(s.out, "     %3.0f %%  %s\n", 100*part, text)
	}
	s.drawn = time.Now()
}

func (s *screen) clear() {
	if s.terminal && !s.drawn.IsZero() {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
	s.drawn = time.Time{}
}

func count[N ~int | ~int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
