package main

import (
	"fmt"
	"io"
	"strconv"
	"time"
)

// screen prints the progress of the program.
type screen struct {
	out   io.Writer
	step  int
	shown time.Time // when a part was last shown
}

func (s *screen) begin(title string) {
	s.step++
	fmt.Fprintf(s.out, "\n%d. %s\n", s.step, title)
}

func (s *screen) done(format string, args ...any) { fmt.Fprintf(s.out, "   ✓ "+format+"\n", args...) }
func (s *screen) failed(format string, args ...any) {
	fmt.Fprintf(s.out, "   ✗ "+format+"\n", args...)
}

// part shows a part from 0 to 1, at most once a second.
func (s *screen) part(part float64, text string) {
	if time.Since(s.shown) >= time.Second {
		s.shown = time.Now()
		fmt.Fprintf(s.out, "     %3.0f %%  %s\n", 100*part, text)
	}
}

func count[N ~int | ~int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
