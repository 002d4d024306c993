package pages_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/pages"
)

type line struct {
	at   time.Time
	text string
}

// log is a service with a log: it returns the newest lines before a time, up to a limit.
type log struct {
	lines  []line // newest first
	atMost int
	asked  int
	serve  func(n int, found []line) ([]line, error)
}

// logOf has lines at these microseconds; equal numbers are lines with equal times and other texts.
func logOf(micros ...int) *log {
	l := &log{atMost: 3}
	for i, n := range micros {
		l.lines = append(l.lines, line{time.Date(2024, 3, 1, 0, 0, 0, n*1000, time.UTC), fmt.Sprint(i)})
	}
	return l
}

func (l *log) walk(limit int) pages.Log[line] {
	return pages.Log[line]{
		Fetch: func(before time.Time) ([]line, error) {
			found := []line{}
			for _, e := range l.lines {
				if (before.IsZero() || e.at.Before(before)) && len(found) < min(limit, l.atMost) {
					found = append(found, e)
				}
			}
			if l.asked++; l.serve != nil {
				return l.serve(l.asked, found)
			}
			return found, nil
		},
		Mark: func(e *line) pages.Mark { return pages.Mark{Time: e.at, Digest: sha256.Sum256([]byte(e.text))} },
		Failed: func(n int, before time.Time, err error) error {
			return &failure{n, pages.Place{Cursor: before.Format(time.RFC3339Nano)}, err}
		},
		Limit: limit,
	}
}

func TestLogIsWhole(t *testing.T) {
	twins := logOf(11, 10, 9, 9, 4, 3)
	twins.lines[3].text = twins.lines[2].text // the same line twice
	tail := logOf(11, 10, 9, 9, 9)
	tail.lines[3].text, tail.lines[4].text = tail.lines[2].text, tail.lines[2].text
	long := make([]int, 12_000)
	for i := range long {
		long[i] = len(long) - i
	}
	much := logOf(long...)
	much.atMost = 500
	for name, l := range map[string]*log{
		"none":                    logOf(),
		"one":                     logOf(1),
		"one page":                logOf(3, 2, 1),
		"several pages":           logOf(9, 8, 7, 6, 5, 4, 3, 2, 1),
		"equal times at a border": logOf(9, 8, 7, 7, 6, 5, 5, 4),
		"twins":                   twins,
		"twins at the end":        tail,
		"long":                    much,
		"all of one time":         logOf(9, 9, 9),
		"the last page is full":   logOf(9, 8, 5, 5, 5),
	} {
		t.Run(name, func(t *testing.T) {
			seq := l.walk(500).All() // the server returns 3
			for range 2 {
				got, err := collect(seq)
				require.NoError(t, err)
				require.Equal(t, append([]line{}, l.lines...), got)
			}
			l.asked = 0
			for range seq {
				break
			}
			require.Equal(t, 1, l.asked)
		})
	}
}

// A full page of entries with one time ends the walk with an error, since older entries cannot be
// reached. The walk discovers the server's limit.
func TestLogOfOneTime(t *testing.T) {
	for _, limit := range []int{3, 500} {
		for name, l := range map[string]*log{"first page": logOf(5, 5, 5, 4), "later page": logOf(9, 5, 5, 5, 5, 1)} {
			t.Run(fmt.Sprint(name, limit), func(t *testing.T) {
				got, err := collect(l.walk(limit).All())
				require.ErrorContains(t, err, "have the same time")
				require.Equal(t, l.lines[:len(got)], got)
			})
		}
	}
	endless, n := logOf(), 0
	endless.serve = func(int, []line) (found []line, err error) {
		for range 500 {
			n++
			found = append(found, line{time.Unix(1, 0), fmt.Sprint(n)})
		}
		return found, nil
	}
	got, err := collect(endless.walk(500).All())
	require.ErrorContains(t, err, "have the same time")
	require.Len(t, got, n, "what came is delivered")
	require.LessOrEqual(t, n, 10_500)
}

// A walk requests older entries only after a full page without new ones, and only after After.
func TestLogAsksNoMoreThanItNeeds(t *testing.T) {
	short := logOf(9, 8, 7, 6)
	_, err := collect(short.walk(500).All())
	require.NoError(t, err)
	require.Equal(t, 3, short.asked)

	full := logOf(9, 9, 9)
	w := full.walk(500)
	w.After = full.lines[0].at
	for i := range full.lines {
		full.lines[i].at = w.After.Add(time.Microsecond / 2)
	}
	_, err = collect(w.All())
	require.NoError(t, err)
	require.Equal(t, 2, full.asked, "two pages")
	full.asked, w.After = 0, time.Time{}
	_, err = collect(w.All())
	require.NoError(t, err)
	require.Equal(t, 3, full.asked, "and whether there are older entries")
}

func TestLogThatBreaksOff(t *testing.T) {
	for name, tt := range map[string]struct {
		serve func(n int, found []line) ([]line, error)
		text  string
	}{
		"an error":          {func(int, []line) ([]line, error) { return nil, errCut }, "page 2: " + errCut.Error()},
		"an empty answer":   {func(int, []line) ([]line, error) { return nil, nil }, "page 2: the answer is empty"},
		"Before is ignored": {func(int, []line) ([]line, error) { return logOf(9, 8, 7).lines, nil }, "page 2: the service ignores Before"},
	} {
		t.Run(name, func(t *testing.T) {
			l := logOf(9, 8, 7, 6, 5, 4)
			l.serve = func(n int, found []line) ([]line, error) {
				if n == 1 {
					return found, nil
				}
				return tt.serve(n, found)
			}
			got, err := collect(l.walk(3).All())
			require.Equal(t, l.lines[:3], got)
			require.ErrorContains(t, err, tt.text)
			var failed *failure
			require.ErrorAs(t, err, &failed)
			require.Equal(t, "2024-03-01T00:00:00.000008Z", failed.at.Cursor, "the oldest entry is shown again")
		})
	}
	first := logOf()
	first.serve = func(int, []line) ([]line, error) { return nil, nil }
	_, err := collect(first.walk(3).All())
	require.NoError(t, err, "an empty answer to the first page is an empty log")

	limited := logOf(9, 8, 7, 6).walk(2)
	limited.MaxPages = 1
	got, err := collect(limited.All())
	require.Len(t, got, 2)
	require.ErrorIs(t, err, pages.ErrPageLimit)
}
