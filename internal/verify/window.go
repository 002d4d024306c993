package verify

import (
	"fmt"
	"time"
)

// Window is a time of whole days, half open.
type Window struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// Days are the days of UTC of the events from oldest to newest.
func Days(oldest, newest time.Time) Window {
	return Window{dayOf(oldest), dayOf(newest).AddDate(0, 0, 1)}
}

func (w Window) String() string {
	if last := w.Until.AddDate(0, 0, -1); last.After(w.From) {
		return fmt.Sprintf("%s to %s", w.From.Format(dayLayout), last.Format(dayLayout))
	}
	return w.From.Format(dayLayout)
}

// Wider returns the window with this many more days on both sides.
func (w Window) Wider(days int) Window {
	return Window{w.From.AddDate(0, 0, -days), w.Until.AddDate(0, 0, days)}
}

// Period returns the days of a period that is a day or a month, or else the whole window.
func (w Window) Period(period string) Window {
	if day, err := time.Parse(dayLayout, period); err == nil {
		return Window{day, day.AddDate(0, 0, 1)}
	}
	if month, err := time.Parse(monthLayout, period); err == nil {
		return Window{month, month.AddDate(0, 1, 0)}
	}
	return w
}

// Halves are the two halves of a window, or nil for a single day.
func (w Window) Halves() []Window {
	days := int(w.Until.Sub(w.From) / (24 * time.Hour))
	if days < 2 {
		return nil
	}
	middle := w.From.AddDate(0, 0, days/2)
	return []Window{{w.From, middle}, {middle, w.Until}}
}

// Months are the parts of the window, one for each month.
func (w Window) Months() (list []Window) {
	for from := w.From; from.Before(w.Until); {
		next := earliest(time.Date(from.Year(), from.Month()+1, 1, 0, 0, 0, 0, time.UTC), w.Until)
		list = append(list, Window{from, next})
		from = next
	}
	return list
}

// MonthsOf returns the months of the window that contain a period of a receipt. If a period is neither a
// day nor a month, it returns all months.
func (w Window) MonthsOf(periods []string) (list []Window) {
	months := map[string]bool{}
	for _, period := range periods {
		if len(period) < len(monthLayout) {
			return w.Months()
		}
		months[period[:len(monthLayout)]] = true
	}
	for _, month := range w.Months() {
		if months[month.From.Format(monthLayout)] {
			list = append(list, month)
		}
	}
	return list
}

func dayOf(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour) }

func afterTomorrow(now time.Time) time.Time { return dayOf(now).AddDate(0, 0, 2) }

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
