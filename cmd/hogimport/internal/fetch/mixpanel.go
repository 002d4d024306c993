package fetch

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// Mixpanel is the raw event export of a Mixpanel project: GET /api/2.0/export. It needs a service account
// and the project's id, or the project's API secret.
type Mixpanel struct {
	Region string // us (the default), eu or in
	Host   string // in place of the region's; https, except on this machine

	ServiceAccount string // user name
	Secret         string // of the service account; without one, the project's API secret
	Project        string // its id; required with a service account

	// Zone is the time zone of a project made before 2023, which has its days in that zone. Nil stands for UTC, or
	// a zone that is not known. Zone only decides when a day is over: the service knows its zone.
	Zone *time.Location

	// Days is the number of days in a request, 1 to 31; 0 stands for 1. The service takes 60 requests an hour, so
	// a year takes 6 hours with one day in each.
	Days int
}

const (
	mixpanelDays = 31
	// lateDays is the number of days for which Mixpanel takes past events from its clients.
	lateDays = 5
)

func (m Mixpanel) plan() (export, error) {
	base, err := baseOf("Mixpanel", m.Host, m.Region,
		region{"us", "data.mixpanel.com"}, region{"eu", "data-eu.mixpanel.com"}, region{"in", "data-in.mixpanel.com"})
	switch {
	case err != nil:
		return export{}, err
	case m.Secret == "":
		return export{}, optionsProblem("a secret of Mixpanel is missing",
			"set MIXPANEL_SERVICE_ACCOUNT and MIXPANEL_SERVICE_ACCOUNT_SECRET, or MIXPANEL_API_SECRET for a project's secret")
	case m.ServiceAccount != "" && m.Project == "":
		return export{}, optionsProblem("a service account can see several projects",
			"set MIXPANEL_PROJECT_ID to the number in the project's settings")
	case strings.Trim(m.Project, "0123456789") != "":
		return export{}, optionsProblem("the project id of Mixpanel is not a number", "set MIXPANEL_PROJECT_ID to the number in the project's settings")
	case m.Days < 0 || m.Days > mixpanelDays:
		return export{}, optionsProblem(fmt.Sprintf("%d days cannot be asked for at once", m.Days), "give 1 to 31")
	}
	project := m.Project
	if project == "" {
		project = "secret " + fingerprint(m.Secret)
	}
	zone := ""
	if m.Zone != nil {
		zone = m.Zone.String()
	}
	e := export{
		vendor: "Mixpanel", unit: 24 * time.Hour, unitName: "days", layout: time.DateOnly, step: max(m.Days, 1),
		prefix: "mixpanel-", ending: ".json.gz",
		identity: identity{Vendor: "mixpanel", Host: base.Host, Project: project, Zone: zone},
		limits:   []limit{{3, time.Second}, {60, time.Hour}},
		base:     base,
		query:    m.query, sign: m.sign, receive: receiveLines, check: checkLinesFile, at: mixpanelTime,
		where:   HostFlag(m.Host),
		keyHint: "check the service account and its secret, that it has access to the project, and " + HostFlag(m.Host),
	}
	e.settled = m.over
	e.late = func(day int) time.Time { return m.over(day).AddDate(0, 0, lateDays) }
	return e, nil
}

// over returns the time when a day has ended in the project's zone or, if it is not known, everywhere.
func (m Mixpanel) over(day int) time.Time {
	next := time.Unix(int64(day+1)*24*60*60, 0).UTC()
	if m.Zone == nil {
		return next.Add(12 * time.Hour)
	}
	return coverage.Days{Zone: m.Zone}.Begin(next) // also of a day without a midnight
}

func (m Mixpanel) query(first, last string) string {
	q := url.Values{"from_date": {first}, "to_date": {last}, "time_in_ms": {"true"}}
	if m.Project != "" {
		q.Set("project_id", m.Project)
	}
	return "/api/2.0/export?" + q.Encode()
}

func (m Mixpanel) sign(r *http.Request) {
	// A packed answer has a checksum of its text at its end.
	r.Header.Set("Accept-Encoding", "gzip")
	if m.ServiceAccount != "" {
		r.SetBasicAuth(m.ServiceAccount, m.Secret)
		return
	}
	r.SetBasicAuth(m.Secret, "")
}

func receiveLines(w io.Writer, answer *http.Response) error {
	switch encoding := strings.ToLower(answer.Header.Get("Content-Encoding")); encoding {
	case "gzip":
		n, err := io.Copy(w, answer.Body)
		if err == nil && n == 0 && answer.ContentLength == 0 {
			return gzip.NewWriter(w).Close()
		}
		return err
	case "", "identity":
	default:
		return notWhole("the answer has an unexpected encoding")
	}
	if answer.ContentLength < 0 && len(answer.TransferEncoding) == 0 && answer.ProtoMajor < 2 { // it may be cut off without an error
		return notWhole("the end of the answer is not marked")
	}
	packed := gzip.NewWriter(w)
	_, err := io.Copy(packed, answer.Body)
	return errors.Join(err, packed.Close())
}

func checkLinesFile(ctx context.Context, path string, lines *lineCheck) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		return notWhole("the compressed data is damaged or cut off")
	}
	lines.needsNewline, lines.needs = true, []string{`"event"`, `"properties"`}
	return lines.read(ctx, plain)
}

// mixpanelTime is the time of an event, in milliseconds as requested, or in seconds.
func mixpanelTime(line []byte) (at time.Time) {
	_, _ = jsonb.ObjectWithin(line, func(_, _ []byte) {}, "properties", func(key, value []byte) {
		n, err := strconv.ParseInt(string(value), 10, 64)
		const maxSeconds = 1e11
		switch {
		case string(key) != "time" || err != nil:
		case n < maxSeconds:
			at = time.Unix(n, 0)
		default:
			at = time.UnixMilli(n)
		}
	})
	return at
}
