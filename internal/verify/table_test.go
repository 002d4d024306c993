package verify

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func date(text string) time.Time {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return at
}

func row(period, name string, acknowledged int64) Row {
	return Row{Key: Key{period, name}, Acknowledged: acknowledged}
}

func windows(list []Window) (texts []string) {
	for _, w := range list {
		texts = append(texts, w.String())
	}
	return texts
}

var now = date("2024-09-01")

// A month with events is a window, the months between two such ones are one, and there is a day more on both sides.
func TestWindows(t *testing.T) {
	t.Parallel()
	table := newTable([]Row{row("2024-03-01", "a", 1), row("2024-03-09", "a", 1), row("2024-07-31", "b", 2), row("2024-05-01", "gone", 0)},
		date("2024-03-01"), date("2024-07-31"))
	assert.Equal(t, []string{"2024-02-29", "2024-03-01 to 2024-03-31", "2024-04-01 to 2024-06-30", "2024-07-01 to 2024-07-31", "2024-08-01"}, windows(table.Windows(now)))
	assert.Equal(t, []string{"1900-01-01 to 1969-12-31", "1970-01-01 to 2024-02-28", "2024-08-02 to 2026-01-02"}, windows(table.Beyond(date("2026-01-01"))))
	assert.Equal(t, []string{"1900-01-01 to 1969-12-31", "1970-01-01 to 2024-09-02"}, windows(newTable(nil, time.Time{}, time.Time{}).Windows(now)), "all times")

	byName := newTable([]Row{row("", "a", 3)}, date("2024-03-05"), date("2024-04-05"))
	assert.Equal(t, []string{"2024-03-04 to 2024-03-31", "2024-04-01 to 2024-04-06"}, windows(byName.Windows(now)))

	unconfirmed := newTable([]Row{row("2024-03-02", "a", 1), {Key: Key{"2024-03-04", "a"}, Unconfirmed: 1}}, date("2024-03-02"), date("2024-03-02"))
	assert.Equal(t, []string{"2024-03-01 to 2024-03-05"}, windows(unconfirmed.Windows(now)), "an event that may not have been taken has its day too")
}

// Without an acknowledged event there are only the rows to go by.
func TestWindowsOfUnconfirmedEvents(t *testing.T) {
	t.Parallel()
	unconfirmed := func(period string) Row { return Row{Key: Key{period, "a"}, Unconfirmed: 1} }
	days := newTable([]Row{unconfirmed("2024-03-04"), unconfirmed("2024-03-02")}, time.Time{}, time.Time{})
	assert.Equal(t, []string{"2024-03-01 to 2024-03-05"}, windows(days.Windows(now)))
	months := newTable([]Row{unconfirmed("2024-03")}, time.Time{}, time.Time{})
	assert.Equal(t, []string{"2024-02-29", "2024-03-01 to 2024-03-31", "2024-04-01"}, windows(months.Windows(now)))
}

func TestHalves(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"2024-03-01", "2024-03-02 to 2024-03-03"}, windows(Window{date("2024-03-01"), date("2024-03-04")}.Halves()))
	assert.Equal(t, []string{"2024-03-01", "2024-03-02"}, windows(Window{date("2024-03-01"), date("2024-03-03")}.Halves()))
	assert.Nil(t, Window{date("2024-03-01"), date("2024-03-02")}.Halves())
}

// Answers are added up as the receipt was.
func TestCellsOfEachGrain(t *testing.T) {
	t.Parallel()
	march := Window{date("2024-03-01"), date("2024-04-01")}
	add := func(table *table) {
		table.Add(march, date("2024-03-01"), "a", Counts{Seen: 2, Copies: 3}, nil)
		table.Add(march, date("2024-03-02"), "a", Counts{Seen: 1, Copies: 1}, nil)
		table.Add(march, date("2024-03-02"), "b", Counts{Seen: 5, Copies: 5}, nil)
	}
	days := newTable([]Row{row("2024-03-01", "a", 2)}, date("2024-03-01"), date("2024-03-01"))
	add(days)
	assert.Equal(t, []Counts{{Seen: 2, Copies: 3}}, days.Seen)
	assert.Equal(t, map[Key]Counts{{"2024-03-02", "a"}: {Seen: 1, Copies: 1}, {"2024-03-02", "b"}: {Seen: 5, Copies: 5}}, days.Outside)
	assert.Equal(t, []Key{{"2024-03-02", "a"}, {"2024-03-02", "b"}}, days.SortedOutside())

	months := newTable([]Row{row("2024-03", "a", 3)}, date("2024-03-01"), date("2024-03-02"))
	add(months)
	assert.Equal(t, []Counts{{Seen: 3, Copies: 4}}, months.Seen)
	assert.Equal(t, map[Key]Counts{{"2024-03", "b"}: {Seen: 5, Copies: 5}}, months.Outside)

	names := newTable([]Row{row("", "a", 3), row(Other, Other, 5)}, date("2024-03-01"), date("2024-03-02"))
	add(names)
	names.Add(march, date("2024-03-03"), "a", Counts{Seen: 9, Copies: 9}, nil)
	assert.Equal(t, []Counts{{Seen: 3, Copies: 4}, {Seen: 5, Copies: 5}}, names.Seen)
	assert.Equal(t, map[Key]Counts{{"2024-03-03", "a"}: {Seen: 9, Copies: 9}}, names.Outside, "after the last day")
	assert.Equal(t, []int{0, 1}, names.Within(march))

	unlisted := newTable([]Row{row("", "a", 3)}, date("2024-03-01"), date("2024-03-02"))
	add(unlisted)
	assert.Equal(t, []Counts{{Seen: 3, Copies: 4}}, unlisted.Seen, "without a row for the others, another name is in no cell")
	assert.Equal(t, map[Key]Counts{{"", "b"}: {Seen: 5, Copies: 5}}, unlisted.Outside)

	old := newTable([]Row{row("1965-03-01", "a", 1), row("1965-03-02", "a", 1)}, date("1965-03-01"), date("1965-03-02"))
	assert.Equal(t, []Row{row("1965-03", "a", 2)}, old.Cells)
	old.Add(Window{date("1965-03-01"), date("1965-03-03")}, date("1970-01-01"), "a", Counts{Seen: 2, Copies: 2}, nil)
	assert.Equal(t, []Counts{{Seen: 2, Copies: 2}}, old.Seen, "the service names no day before 1970")
	old.Add(Window{date("1965-03-01"), date("1965-04-01")}, date("1970-01-01"), "a", Counts{Seen: 1, Copies: 1}, nil)
	assert.Equal(t, []Counts{{Seen: 3, Copies: 3}}, old.Seen, "a whole month")
	_, cell := old.keyOf(date("1965-03-07"), "a")
	assert.Equal(t, 0, cell)
	_, cell = old.keyOf(date("1965-04-07"), "a")
	assert.Equal(t, -1, cell)
	old.Add(Window{date("1965-03-01"), date("1965-04-02")}, date("1970-01-01"), "a", Counts{Seen: 4, Copies: 4}, nil)
	assert.Equal(t, []Counts{{Seen: 3, Copies: 3}}, old.Seen, "of which month is not known")
	assert.Equal(t, map[Key]Counts{{BeforeEpoch, "a"}: {Seen: 4, Copies: 4}}, old.Outside)

	first := newTable([]Row{row("1970-01-01", "a", 1), {Key: Key{"1970-01-02", "a"}, Acknowledged: 2, Unconfirmed: 2}}, date("1970-01-01"), date("1970-01-02"))
	assert.Equal(t, []Row{row("1970-01-01", "a", 1), {Key: Key{"1970-01-02", "a"}, Acknowledged: 2, Unconfirmed: 2}}, first.Cells, "half of a cell may be unconfirmed")
}

// A cell is within a window if they share a day. Wide spans from 31 days before the table to tomorrow.
func TestCellsOfAWindow(t *testing.T) {
	t.Parallel()
	table := newTable([]Row{row("2024-03-01", "a", 1), row("2024-03-02", "a", 1), row("2024-03-03", "a", 1)}, date("2024-03-01"), date("2024-03-03"))
	assert.Equal(t, []int{1}, table.Within(Window{date("2024-03-02"), date("2024-03-03")}))
	assert.Empty(t, table.Within(Window{date("2024-03-04"), date("2024-04-01")}))
	assert.Empty(t, table.Within(Window{date("2024-02-01"), date("2024-03-01")}))
	assert.Equal(t, "2024-01-30 to 2024-09-02", table.Wide(now).String())
}

// Events outside the cells are counted even beyond the bound of Outside.
func TestOutsideIsBounded(t *testing.T) {
	t.Parallel()
	table := newTable([]Row{row("2024-03-01", "a", 2)}, date("2024-03-01"), date("2024-03-01"))
	for i := range maxOutside + 7 {
		table.Add(Window{date("2000-01-01"), date("2100-01-01")}, date("2000-01-01").AddDate(0, 0, i), "b", Counts{Seen: 1, Copies: 2}, nil)
	}
	assert.Len(t, table.Outside, maxOutside)
	assert.Equal(t, Counts{Seen: 7, Copies: 14}, table.Left)
}

func TestPeriod(t *testing.T) {
	t.Parallel()
	all := Days(date("2024-03-05").Add(time.Hour), date("2024-05-06").Add(23*time.Hour))
	for period, want := range map[string]string{
		"2024-03-07": "2024-03-07", "2024-02": "2024-02-01 to 2024-02-29", "": "2024-03-05 to 2024-05-06", Other: "2024-03-05 to 2024-05-06",
	} {
		assert.Equal(t, want, all.Period(period).String())
	}
	assert.Equal(t, "2024-03-04 to 2024-05-07", all.Wider(1).String())
}

// The first and the last month are cut, and months without a period are left out.
func TestMonthsOf(t *testing.T) {
	t.Parallel()
	all := Window{date("2024-03-05"), date("2024-05-07")}
	whole := []string{"2024-03-05 to 2024-03-31", "2024-04-01 to 2024-04-30", "2024-05-01 to 2024-05-06"}
	assert.Equal(t, whole, windows(all.Months()))
	assert.Equal(t, []string{whole[0], whole[2]}, windows(all.MonthsOf([]string{"2024-03-06", "2024-05"})))
	for _, rolledUp := range []string{"", Other} {
		assert.Equal(t, whole, windows(all.MonthsOf([]string{"2024-03-06", rolledUp})))
	}
	assert.Empty(t, all.MonthsOf(nil))
}
