package page

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/hogapi/hogapi/cmd/internal/page"
)

// A chart has stacked bars, one for each period of time. Its places and sizes are in percent, so that it fits
// any width.
type chart struct {
	Unit   string // "day", "month" or "year"
	Bars   []bar
	Lines  []line
	Labels []label
	Series []*series // from the bottom of the bars to their top
	Empty  []string  // periods between the first and the last that have nothing
}

type bar struct {
	Period   string
	Total    int64
	X, Width string
	Parts    []part // the parts that are not empty
}

type part struct {
	Name      string
	Class     string
	N         int64
	Y, Height string
}

type line struct{ Y, Text string }

type label struct {
	X, Text string
	Wide    bool // only where there is room
}

// series is one color of a chart, and a line of its legend.
type series struct {
	Name, Class string
	Total       int64
	First, Last string // periods
	IsRest      bool   // of all names that have no series of their own
}

type sample struct {
	Day  string // 2006-01-02 or 2006-01
	Name string
	N    int64
}

const (
	maxDays   = 62
	maxMonths = 120
	maxSeries = 7 // and one for all others
	others    = "all others"
)

// units has the lengths of periods, and their forms.
var units = []struct {
	name, layout string
	next         func(time.Time) time.Time
	most         int
}{
	{"day", "2006-01-02", func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }, maxDays},
	{"month", "2006-01", func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }, maxMonths},
	{"year", "2006", func(t time.Time) time.Time { return t.AddDate(1, 0, 0) }, math.MaxInt},
}

// periods returns all periods from the first sample to the last, and the length to which a sample's day is cut.
// If a sample has no day, the list is empty.
func periods(samples []sample) (unit string, layout int, list []string) {
	if len(samples) == 0 {
		return "", 0, nil
	}
	first, last, shortest := samples[0].Day, samples[0].Day, len(samples[0].Day)
	for _, s := range samples {
		first, last, shortest = min(first, s.Day), max(last, s.Day), min(shortest, len(s.Day))
	}
	for _, u := range units {
		if shortest < len(u.layout) {
			continue
		}
		from, errFrom := time.Parse(u.layout, first[:len(u.layout)])
		to, errTo := time.Parse(u.layout, last[:len(u.layout)])
		if errFrom != nil || errTo != nil {
			return "", 0, nil
		}
		list = nil
		for t := from; !t.After(to) && len(list) <= u.most; t = u.next(t) {
			list = append(list, t.Format(u.layout))
		}
		if len(list) <= u.most {
			return u.name, len(u.layout), list
		}
	}
	return "", 0, nil
}

// newChart returns a chart of samples with series in the given order, each with its class. Samples of other
// names count as the last series. It returns nil if the samples have no time.
func newChart(samples []sample, all []*series) *chart {
	unit, cut, list := periods(samples)
	if len(list) == 0 || len(all) == 0 {
		return nil
	}
	place := map[string]int{}
	for i, period := range list {
		place[period] = i
	}
	which := map[string]int{}
	for i, s := range all {
		if !s.IsRest {
			which[s.Name] = i
		}
	}
	counts := make([][]int64, len(list))
	for i := range counts {
		counts[i] = make([]int64, len(all))
	}
	for _, s := range samples {
		i, known := which[s.Name]
		if !known {
			i = len(all) - 1
		}
		counts[place[s.Day[:cut]]][i] += s.N
	}
	c := &chart{Unit: unit, Series: all}
	var highest int64
	for _, row := range counts {
		highest = max(highest, sum(row))
	}
	top := c.grid(highest)
	for i, period := range list {
		c.add(period, counts[i], top, i, len(list))
	}
	c.label(list)
	return c
}

func sum(row []int64) (n int64) {
	for _, v := range row {
		n += v
	}
	return n
}

func (c *chart) add(period string, row []int64, top int64, i, of int) {
	const gap = 0.18 // of a bar's room
	b := bar{Period: period, Total: sum(row), X: percent(float64(i)+gap/2, of), Width: percent(1-gap, of)}
	if b.Total == 0 {
		c.Empty = append(c.Empty, period)
	}
	var below int64
	for n, v := range row {
		s := c.Series[n]
		if v == 0 {
			continue
		}
		below += v
		b.Parts = append(b.Parts, part{
			Name: s.Name, Class: s.Class, N: v,
			Y: percent(float64(top-below), int(top)), Height: percent(float64(v), int(top)),
		})
		s.First, s.Last = cmp.Or(s.First, period), period
	}
	c.Bars = append(c.Bars, b)
}

// grid adds the lines with round numbers, and returns the number at the top.
func (c *chart) grid(highest int64) (top int64) {
	const lines = 4
	step := int64(1)
	for n := 1; step*lines < highest; n++ {
		step = []int64{1, 2, 5}[n%3] * int64(math.Pow10(n/3))
	}
	top = max(step, (highest+step-1)/step*step)
	for n := int64(0); n <= top; n += step {
		c.Lines = append(c.Lines, line{percent(float64(top-n), int(top)), short(n)})
	}
	return top
}

// label adds the names of as many periods as fit without touching.
func (c *chart) label(list []string) {
	const wide, narrow = 10, 4
	every := (len(list) + wide - 1) / wide
	both := every * ((wide + narrow - 1) / narrow)
	for i := 0; i < len(list); i += every {
		c.Labels = append(c.Labels, label{percent(float64(i)+0.5, len(list)), list[i], i%both != 0})
	}
}

func percent(part float64, of int) string { return fmt.Sprintf("%.3f%%", 100*part/float64(of)) }

func short(n int64) string {
	for _, u := range []struct {
		of   int64
		name string
	}{{1_000_000_000, " bn"}, {1_000_000, " m"}, {1_000, " k"}} {
		if n >= u.of {
			return fmt.Sprintf("%.4g%s", float64(n)/float64(u.of), u.name)
		}
	}
	return page.Count(n)
}

// totals adds samples up by their names.
func totals(samples []sample) map[string]int64 {
	all := map[string]int64{}
	for _, s := range samples {
		all[s.Name] += s.N
	}
	return all
}

// largest returns the series of the most frequent names, and one series of all others.
func largest(samples []sample) []*series {
	var all []*series
	for _, name := range sizes(totals(samples), 0) {
		all = append(all, &series{Name: name.Name, Total: name.N})
	}
	if len(all) > maxSeries+1 {
		rest := &series{Name: others, IsRest: true}
		for _, s := range all[maxSeries:] {
			rest.Total += s.Total
		}
		all = append(all[:maxSeries], rest)
	}
	for i, s := range all {
		s.Class = fmt.Sprintf("c%d", i)
	}
	return all
}
