package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/narrow"
)

// Compare compares the events of a time in a PostHog project with the rows of a destination, and names each row that
// differs. It reads digests of days, then of hours and slices of uuids where they differ, and lists only the keys of
// differing slices. Rows are matched by uuid: see [Doubled], [Altered] and [Replaced]. Compare changes neither side.
//
// A query that takes too long is split, down to 1/256 of a day's uuids. If that fails too, if answers are inconsistent
// or change, or if Options.MaxQueries is reached, the rows are [CannotTell], and the report is not [Complete]. A mistake
// in the setup, such as a wrong password or a missing column, is an error that names it. With Options.Dir, another
// Compare continues after an error or a kill.
func Compare(ctx context.Context, service Service, destination Side, o *Options) (_ *Report, err error) {
	c, err := newComparison(service, destination, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.journal.close()) }()
	if err := c.run(ctx); err != nil {
		return nil, err
	}
	if err := c.journal.finish(); err != nil {
		return nil, fmt.Errorf("reconcile: the folder: %w", err)
	}
	return c.report, nil
}

// The numbers of the two sides.
const (
	ofService = iota
	ofDestination
)

type comparison struct {
	Options

	service Service
	sides   [2]Side
	journal *journal
	paces   [2]*pace
	report  *Report
	queries [2]int
	days    map[time.Time]*Day
	bad     map[time.Time]int64
	found   map[uuid.UUID]*rowsOf // that differ in what was listed
	judged  map[uuid.UUID]bool
	arrived map[Span]bool          // times in which rows arrived that are there
	over    map[time.Time]int64    // by day: further rows of keys in the destination
	counted [2]map[time.Time]int64 // by day: rows of the sides, as far as they could count
	rows    int64                  // that were named
	step    Progress
	noTexts bool // of digests
}

// rowsOf are the listed rows of a uuid.
type rowsOf struct{ asked, all, there []Row }

func newComparison(service Service, destination Side, o *Options) (*comparison, error) {
	options, err := o.complete()
	if err != nil {
		return nil, err
	}
	if service == nil || destination == nil {
		return nil, errors.New("reconcile: a side is nil: give the service and the destination")
	}
	for i := range options.Exports {
		slices.SortFunc(options.Exports[i].Backfills, func(a, b Span) int { return a.From.Compare(b.From) })
	}
	of, err := hash(service.Name(), destination.Name(), options.From, options.To, options.Exports, options.Margin)
	if err != nil {
		return nil, err
	}
	now := options.now().UTC()
	to := options.To
	if to.IsZero() {
		to = now.Add(-options.Margin).Truncate(time.Hour)
	}
	j, err := openJournal(options.Dir, of, to, now)
	if err != nil {
		return nil, err
	}
	options.To = j.to
	if !options.From.Before(options.To) {
		err := errors.New("reconcile: Options.From is not before the newest time that can be compared: give an earlier one")
		return nil, errors.Join(err, j.close())
	}
	sides := [2]Side{service, destination}
	var paces [2]*pace
	for i, side := range sides {
		paces[i] = &pace{}
		if project, ok := side.(*PostHogSide); ok {
			paces[i] = &project.pace
			project.limit(options.MaxBytesRead)
		}
	}
	if a, ok := service.(*PostHogSide); ok { // the service counts queries per key
		if b, ok := destination.(*PostHogSide); ok && a.asker.Key != "" && a.asker.Key == b.asker.Key {
			paces[ofDestination] = paces[ofService]
		}
	}
	for i := range paces {
		paces[i].add(j.asked[i])
	}
	return &comparison{
		Options: options, service: service, sides: sides, journal: j, paces: paces,
		days: map[time.Time]*Day{}, bad: map[time.Time]int64{}, over: map[time.Time]int64{},
		found: map[uuid.UUID]*rowsOf{}, judged: map[uuid.UUID]bool{}, arrived: map[Span]bool{},
		report: &Report{
			Service: mask.OneLine(service.Name()), Destination: mask.OneLine(destination.Name()),
			From: options.From, To: options.To, CheckedAt: j.begun,
			Findings: []Finding{}, Unknown: []Unknown{}, Notes: []string{},
		},
	}, nil
}

func (c *comparison) run(ctx context.Context) error {
	rows, err := c.count(ctx)
	if err != nil {
		return err
	}
	windows := c.windowsOf(rows)
	differing, err := c.descend(ctx, windows)
	if err != nil {
		return err
	}
	if err := c.list(ctx, differing); err != nil {
		return err
	}
	if err := c.judge(ctx); err != nil {
		return err
	}
	if err := c.listDoubled(ctx); err != nil {
		return err
	}
	if err := c.leftOut(ctx, windows); err != nil {
		return err
	}
	if c.noTexts {
		c.note("A server does not hash texts (MD5): a row with another name or distinct id was found only where uuids differ in its bucket too.")
	}
	c.report.BytesRead, c.report.BudgetLeft = c.read()
	c.report.finish(c)
	return nil
}

// read returns how many bytes the queries to projects have read, and the least that is left of a budget.
func (c *comparison) read() (bytes int64, left *int64) {
	for _, side := range c.sides {
		project, ok := side.(*PostHogSide)
		if !ok {
			continue
		}
		read, newest := project.asker.Read()
		bytes += read
		if newest.IsKnown && (left == nil || newest.BudgetLeft < *left) {
			left = &newest.BudgetLeft
		}
	}
	return bytes, left
}

// ask asks a side, unless the journal has its answer. An answer that contradicts the question is asked for once more.
func ask[T any](
	ctx context.Context, c *comparison, side int, question []any, f func(Side) (T, error), check func(T) error,
) (answer T, err error) {
	name, err := hash(append([]any{side}, question...)...)
	if err != nil {
		return answer, err
	}
	if tooMuch, known, err := c.journal.recall(name, &answer); err != nil {
		return answer, fmt.Errorf("reconcile: the folder: %w", err)
	} else if known {
		c.queries[side]++
		if tooMuch {
			return answer, ErrTooMuch
		}
		return answer, nil
	}
	for try := 1; ; try++ {
		if c.queries[side] >= c.MaxQueries {
			return answer, fmt.Errorf("%w: MaxQueries (%d) is reached", ErrCannotTell, c.MaxQueries)
		}
		perHour := 0
		if paced, ok := c.sides[side].(interface{ QueriesPerHour() int }); ok {
			perHour = paced.QueriesPerHour()
		}
		if c.OnProgress != nil {
			p := c.step
			p.Side, p.Queries = c.sides[side].Name(), c.queries[side]
			c.OnProgress(p)
		}
		at, stopped := c.paces[side].wait(ctx, perHour, c.now())
		if stopped != nil {
			return answer, stopped
		}
		if err := c.journal.ask(side, at); err != nil {
			return answer, fmt.Errorf("reconcile: the folder: %w", err)
		}
		c.queries[side]++
		answer, err = f(c.sides[side])
		if err == nil {
			if err = check(answer); err != nil {
				err = fmt.Errorf("%w: %w", ErrCannotTell, err)
			}
		}
		const tries = 2
		if !errors.Is(err, ErrCannotTell) || try == tries || ctx.Err() != nil {
			break
		}
	}
	switch {
	case err == nil, errors.Is(err, ErrTooMuch) && ctx.Err() == nil:
		if failed := c.journal.keep(name, err != nil, answer); failed != nil {
			return answer, fmt.Errorf("reconcile: the folder: %w", failed)
		}
		return answer, err
	case errors.Is(err, ErrCannotTell) && ctx.Err() == nil:
		return answer, err
	case ctx.Err() != nil:
		return answer, fmt.Errorf("reconcile: stopped: %w", context.Cause(ctx))
	}
	return answer, fmt.Errorf("reconcile: %s: %w", mask.OneLine(c.sides[side].Name()), err)
}

// isOpen reports whether the comparison continues after an error of a question.
func isOpen(err error) bool { return errors.Is(err, ErrTooMuch) || errors.Is(err, ErrCannotTell) }

// windowsOf divides the time so that a digest reads at most a year and some million rows.
func (c *comparison) windowsOf(rows [2]map[time.Time]int64) (windows []Part) {
	var size int64
	for day := dayOf(c.From); day.Before(c.To); day = day.Add(24 * time.Hour) {
		from, to := narrow.Later(day, c.From), narrow.Earlier(day.Add(24*time.Hour), c.To)
		n := max(rows[ofService][day], rows[ofDestination][day])
		if last := len(windows) - 1; last >= 0 && size+n <= c.windowRows && to.Sub(windows[last].From) <= longestWindow {
			windows[last].To = to
			size += n
			continue
		}
		windows, size = append(windows, Part{From: from, To: to}), n
	}
	return windows
}

// count counts the rows of both sides by day. A side that cannot count has rows by guess: a window for each month.
func (c *comparison) count(ctx context.Context) (rows [2]map[time.Time]int64, err error) {
	c.step = Progress{Step: "count", Total: len(c.sides)}
	for side := range c.sides {
		rows[side], c.counted[side] = map[time.Time]int64{}, map[time.Time]int64{}
		c.step.Done = side
		for from := c.From; from.Before(c.To); from = from.Add(longestWindow) {
			to := narrow.Earlier(from.Add(longestWindow), c.To)
			days, err := ask(ctx, c, side, []any{"count", from, to}, func(s Side) ([]DayCount, error) {
				return s.Count(ctx, c.selection(side, []Part{{From: from, To: to}}))
			}, func(days []DayCount) error { return checkDays(days, from, to) })
			if isOpen(err) {
				for day := dayOf(from); day.Before(to); day = day.Add(24 * time.Hour) {
					rows[side][day] = c.windowRows / 31
				}
				continue
			}
			if err != nil {
				return rows, err
			}
			for _, d := range days {
				rows[side][dayOf(d.Day)] += d.Rows
				c.counted[side][dayOf(d.Day)] += d.Rows
			}
		}
	}
	return rows, nil
}

func checkDays(days []DayCount, from, to time.Time) error {
	for _, d := range days {
		if d.Day.Before(dayOf(from)) || !d.Day.Before(to) || d.Rows < 0 {
			return errors.New("a count is of another time, or negative")
		}
	}
	return nil
}

// leftOut counts the rows that no export sends.
func (c *comparison) leftOut(ctx context.Context, windows []Part) error {
	if !slices.ContainsFunc(c.Exports, func(e Export) bool {
		return !e.Since.IsZero() || len(e.Include)+len(e.Exclude) > 0 || e.Where != ""
	}) {
		return nil
	}
	for i, w := range windows {
		c.step = Progress{Step: "left out", Done: i, Total: len(windows)}
		counts, err := c.leftOutOf(ctx, w)
		if isOpen(err) {
			c.note("The rows of %v that no export sends could not be counted: %v", w, errtext.WithoutPrefix(err))
			continue
		}
		if err != nil {
			return err
		}
		for _, n := range counts {
			d := c.day(n.Day)
			d.Counts[NeverAsked] += n.NeverAsked
			d.Counts[Filtered] += n.Filtered
		}
	}
	return nil
}

func (c *comparison) leftOutOf(ctx context.Context, w Part) ([]LeftOut, error) {
	return narrow.Ask([]Part{w}, func(parts []Part) ([]LeftOut, error) {
		return ask(ctx, c, ofService, []any{"left out", parts[0]}, func(Side) ([]LeftOut, error) {
			return c.service.LeftOut(ctx, c.selection(ofService, parts))
		}, func(counts []LeftOut) error {
			for _, n := range counts {
				if n.Day.Before(dayOf(parts[0].From)) || !n.Day.Before(parts[0].To) || n.NeverAsked < 0 || n.Filtered < 0 {
					return errors.New("a count is of another time, or negative")
				}
			}
			return nil
		})
	}, isTooMuch, dividedBy(24*time.Hour, listedDigits))
}

func (c *comparison) note(format string, args ...any) {
	c.report.Notes = append(c.report.Notes, mask.Clean(fmt.Sprintf(format, args...)))
}

// day returns the counts of a day.
func (c *comparison) day(at time.Time) *Day {
	at = dayOf(at)
	if c.days[at] == nil {
		c.days[at] = &Day{Day: at.Format(time.DateOnly), Counts: map[Class]int64{}}
	}
	return c.days[at]
}

// halves divides a part between two units of time, or returns nil if it has only one.
func (p Part) halves(unit time.Duration) []Part {
	middle, ok := narrow.Middle(p.From, p.To, unit)
	if !ok {
		return nil
	}
	return []Part{{p.From, middle, p.Suffix}, {middle, p.To, p.Suffix}}
}

// slices divides a part into 16 by another digit of the uuids.
func (p Part) slices() (all []Part) {
	for _, digit := range narrow.Hex {
		all = append(all, Part{p.From, p.To, string(digit) + p.Suffix})
	}
	return all
}
