package jsonb

import (
	"errors"
	"time"
)

// AppendTime appends t in UTC as RFC 3339 with a Z and without trailing zeros in the fraction. The
// year in UTC must be within 0 to 9999. It caches the text of the date, which consecutive times
// usually share.
func (e *Encoder) AppendTime(dst []byte, t time.Time) []byte {
	seconds := t.Unix()
	of := seconds % secondsOfDay
	if of < 0 {
		of += secondsOfDay
	}
	if midnight := seconds - of; e.date == nil || midnight != e.midnight {
		e.date, e.midnight = t.UTC().AppendFormat(e.date[:0], "2006-01-02T"), midnight
	}
	dst = append(dst, e.date...)
	dst = append(appendTwo(dst, int(of/3600)), ':')
	dst = append(appendTwo(dst, int(of/60%60)), ':')
	dst = appendTwo(dst, int(of%60))
	if nanos := t.Nanosecond(); nanos > 0 {
		dst = appendFraction(dst, nanos, 100_000_000)
	}
	return append(dst, 'Z')
}

func appendTwo(dst []byte, n int) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

// appendFraction appends the decimals of a fraction, given the place of the first one.
func appendFraction(dst []byte, rest, place int) []byte {
	dst = append(dst, '.')
	for ; rest > 0; place /= 10 {
		dst = append(dst, byte('0'+rest/place))
		rest %= place
	}
	return dst
}

var errTime = errors.New("not an RFC 3339 time with an offset and at most nine digits of a second, such as 2024-05-01T12:30:00.123+02:00")

// ParseTime reads an RFC 3339 time: T and Z in upper or lower case, offsets up to ±23:59, and at
// most nine fraction digits. A leap second, 23:59:60 in UTC, becomes the next second, as in POSIX.
// The result is in UTC, with a year within 0 to 9999.
func ParseTime(s []byte) (time.Time, error) {
	const layout = "2006-01-02T15:04:05Z"
	if len(s) < len(layout) || s[4] != '-' || s[7] != '-' || s[10]|0x20 != 't' || s[13] != ':' || s[16] != ':' {
		return time.Time{}, errTime
	}
	century, decade := two(s[0:]), two(s[2:])
	month, day := two(s[5:]), two(s[8:])
	hour, minute, second := two(s[11:]), two(s[14:]), two(s[17:])
	year := century*100 + decade
	ok := century >= 0 && decade >= 0 && month >= 1 && month <= 12 && day >= 1 &&
		hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second <= 60
	if !ok || day > daysIn(year, month) {
		return time.Time{}, errTime
	}
	nanos, rest, ok := fraction(s[19:])
	if !ok {
		return time.Time{}, errTime
	}
	offset, ok := zone(rest)
	if !ok {
		return time.Time{}, errTime
	}
	seconds := daysSince1970(year, month, day)*secondsOfDay + int64(hour*3600+(minute-offset)*60+second)
	isLeap := second == 60
	if seconds < firstSecond || seconds > lastSecond || isLeap && seconds%secondsOfDay != 0 {
		return time.Time{}, errTime
	}
	return time.Unix(seconds, int64(nanos)).UTC(), nil
}

// The first and the last second of the years 0 to 9999.
const (
	secondsOfDay   = 24 * 60 * 60
	daysBefore1970 = 719_528 // since the year 0
	firstSecond    = -daysBefore1970 * secondsOfDay
	lastSecond     = 2_932_897*secondsOfDay - 1
)

// daysSince1970 is cheaper than time.Date, which also normalizes dates that do not exist.
func daysSince1970(year, month, day int) int64 {
	leaps := (year+3)/4 - (year+99)/100 + (year+399)/400 // before this year
	days := year*365 + leaps + daysBefore[month-1] + day - 1
	if month > 2 && isLeap(year) {
		days++
	}
	return int64(days - daysBefore1970)
}

// daysBefore each month of a common year.
var daysBefore = [13]int{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365}

// fraction reads an optional fraction of a second.
func fraction(s []byte) (nanos int, rest []byte, ok bool) {
	if s[0] != '.' {
		return 0, s, true
	}
	end := digits(s, 1)
	if end == 1 || end > 10 {
		return 0, nil, false
	}
	for _, c := range s[1:end] {
		nanos = nanos*10 + int(c-'0')
	}
	for i := end; i < 10; i++ {
		nanos *= 10
	}
	return nanos, s[end:], true
}

// zone reads Z or an offset such as -07:00, in minutes east of UTC.
func zone(s []byte) (minutes int, ok bool) {
	if len(s) == 1 && s[0]|0x20 == 'z' {
		return 0, true
	}
	if len(s) != len("+07:00") || s[0] != '+' && s[0] != '-' || s[3] != ':' {
		return 0, false
	}
	hour, minute := two(s[1:]), two(s[4:])
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 {
		return 0, false
	}
	minutes = hour*60 + minute
	if s[0] == '-' {
		minutes = -minutes
	}
	return minutes, true
}

// two reads two digits, or returns a negative number.
func two(s []byte) int {
	tens, ones := s[0]-'0', s[1]-'0'
	if tens > 9 || ones > 9 {
		return -1
	}
	return int(tens)*10 + int(ones)
}

func daysIn(year, month int) int {
	days := daysBefore[month] - daysBefore[month-1]
	if month == 2 && isLeap(year) {
		days++
	}
	return days
}

func isLeap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }
