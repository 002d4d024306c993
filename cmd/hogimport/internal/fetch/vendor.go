package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Vendor is a service with an export: [Mixpanel] or [Amplitude].
type Vendor interface {
	// plan checks the options and says how to download the export.
	plan() (export, error)
}

// export says how to download the export of one project from a service.
type export struct {
	vendor   string // for people
	unit     time.Duration
	unitName string // for people
	layout   string // of a unit's time, in requests
	step     int    // units of the first request
	prefix   string // of the files' names
	ending   string
	identity identity
	limits   []limit

	// settled returns the time from which on a unit can be requested, and late the time after which it no longer
	// grows.
	settled, late func(unit int) time.Time

	base    *url.URL
	query   func(first, last string) string // the path and query of a range
	sign    func(*http.Request)
	receive func(w io.Writer, answer *http.Response) error                 // writes an answer to a file
	check   func(ctx context.Context, path string, lines *lineCheck) error // reads such a file to its end
	at      func(line []byte) time.Time                                    // that a range selects an event by; zero: the line does not say

	emptyIs404                 bool // a range without events is a 404
	tooLargeIs                 int  // the status of a range with too much in it; 0: no such status
	tooLargeText, tooLargeTodo string
	keyHint                    string
	where                      string // the flag that says where the service is
}

// text returns a unit in the form of the service.
func (e *export) text(unit int) string { return e.start(unit).Format(e.layout) }

func (e *export) start(unit int) time.Time {
	return time.Unix(int64(unit)*int64(e.unit/time.Second), 0).UTC()
}

func (e *export) unitOf(t time.Time) int { return int(t.Unix() / int64(e.unit/time.Second)) }

func (e *export) spanText(s span) string {
	if s.first == s.last {
		return e.text(s.first)
	}
	return e.text(s.first) + " to " + e.text(s.last)
}

const between = "--" // the two ends of a range in a file's name

func (e *export) fileName(s span) string {
	name := e.prefix + e.text(s.first)
	if s.first != s.last {
		name += between + e.text(s.last)
	}
	return name + e.ending
}

func (e *export) spanOf(name string) (s span, isPart bool) {
	rest, hasPrefix := strings.CutPrefix(name, e.prefix)
	rest, hasEnding := strings.CutSuffix(rest, e.ending)
	first, last, isRange := strings.Cut(rest, between)
	if !isRange {
		last = first
	}
	s, err := e.parse(first, last)
	return s, hasPrefix && hasEnding && err == nil
}

func (e *export) parse(first, last string) (span, error) {
	from, err := time.Parse(e.layout, first)
	if err != nil {
		return span{}, err
	}
	to, err := time.Parse(e.layout, last)
	s := span{e.unitOf(from), e.unitOf(to)}
	if err == nil && s.first > s.last {
		err = fmt.Errorf("%s is after %s", first, last)
	}
	return s, err
}

// checkFile reads the file of a range to its end.
func (e *export) checkFile(ctx context.Context, path string, s span) (events int64, err error) {
	lines := lineCheck{at: e.at, from: e.start(s.first), to: e.start(s.last + 1)}
	err = e.check(ctx, path, &lines)
	return lines.count, err
}

func (e *export) request(ctx context.Context, s span) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, e.base.String()+e.query(e.text(s.first), e.text(s.last)), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "hogimport")
	e.sign(r)
	return r, nil
}

// HostFlag returns the flag that says where a service is: the flag of the host if it is given, or else the flag
// of the region.
func HostFlag(host string) string {
	if host != "" {
		return "--export-host"
	}
	return "--region"
}

// A region is a region in which a service keeps data, and its host there.
type region struct{ name, host string }

// baseOf returns the address of the service: the given host, or else the host of the region, by default of the
// first region.
func baseOf(vendor, host, wanted string, regions ...region) (*url.URL, error) {
	if host == "" {
		var names []string
		for _, r := range regions {
			if wanted == "" || strings.EqualFold(wanted, r.name) {
				return &url.URL{Scheme: "https", Host: r.host}, nil
			}
			names = append(names, r.name)
		}
		return nil, optionsProblem(fmt.Sprintf("%s has no region %q", vendor, wanted), "give one of "+strings.Join(names, ", "))
	}
	base, err := url.Parse(host)
	switch {
	case err != nil || base.Host == "" || base.User != nil || strings.Trim(base.Path, "/") != "" || base.RawQuery != "":
		return nil, optionsProblem("the host of the export is not one", "give https:// and a name, nothing after it")
	case base.Scheme == "https", base.Scheme == "http" && isLoopback(base.Hostname()):
		return &url.URL{Scheme: base.Scheme, Host: base.Host}, nil
	}
	return nil, optionsProblem("the host of the export would get the key unencrypted", "give one with https://")
}
