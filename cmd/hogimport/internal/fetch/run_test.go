package fetch

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answerDays answers each day with a line of it.
func answerDays(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	for at := day(q.Get("from_date")); !at.After(day(q.Get("to_date"))); at = at.AddDate(0, 0, 1) {
		write(w, []byte(mixpanelLine(at.Format(time.DateOnly))))
	}
}

// answerHours answers each hour with a row of it.
func answerHours(w http.ResponseWriter, r *http.Request) {
	var texts []string
	first, _ := time.Parse("20060102T15", r.URL.Query().Get("start"))
	last, _ := time.Parse("20060102T15", r.URL.Query().Get("end"))
	for at := first; !at.After(last); at = at.Add(time.Hour) {
		texts = append(texts, `{"event_type":"seen","at":"`+at.Format("20060102T15")+`"}`+"\n")
	}
	write(w, zipped(texts...))
}

// Each request has the address of its region, the range, and the keys as the service takes them.
func TestRequests(t *testing.T) {
	const mixpanelDay = ".mixpanel.com/api/2.0/export?from_date=1999-12-01"
	for want, c := range map[string]struct {
		vendor         Vendor
		user, password string
	}{
		"https://data-eu" + mixpanelDay + "&project_id=77&time_in_ms=true&to_date=1999-12-01": {
			Mixpanel{ServiceAccount: "sa.me", Secret: testSecret, Project: "77", Region: "eu"}, "sa.me", testSecret,
		},
		"https://data-in" + mixpanelDay + "&time_in_ms=true&to_date=1999-12-01":             {Mixpanel{Secret: testSecret, Region: "IN"}, testSecret, ""},
		"https://data" + mixpanelDay + "&time_in_ms=true&to_date=1999-12-01":                {Mixpanel{Secret: testSecret}, testSecret, ""},
		"https://amplitude.com/api/2/export?end=19991201T23&start=19991201T00":              {Amplitude{APIKey: testKey, SecretKey: testSecret}, testKey, testSecret},
		"https://analytics.eu.amplitude.com/api/2/export?end=19991201T23&start=19991201T00": {Amplitude{APIKey: testKey, SecretKey: testSecret, Region: "eu"}, testKey, testSecret},
	} {
		e, err := c.vendor.plan()
		require.NoError(t, err)
		r, err := e.request(t.Context(), span{e.unitOf(day("1999-12-01")), e.unitOf(day("1999-12-02")) - 1})
		require.NoError(t, err)
		user, password, _ := r.BasicAuth()
		assert.Equal(t, []string{want, c.user, c.password}, []string{r.URL.String(), user, password})
		assert.NotEmpty(t, r.Header.Get("Accept-Encoding"))
	}
}

// Both ends of a range are in it, and no day or hour is asked for twice: not within a run, nor by the next one.
func TestNothingIsAskedForTwice(t *testing.T) {
	for name, c := range map[string]struct {
		handler       http.HandlerFunc
		job           func(folder, from, to string) Job
		first, second []string
	}{
		"mixpanel": {
			answerDays, mixpanelJob,
			[]string{"1999-12-30", "1999-12-31"}, []string{"1999-12-28", "1999-12-29", "2000-01-01"},
		},
		"mixpanel by three days": {
			answerDays, func(folder, from, to string) Job {
				j := mixpanelJob(folder, from, to)
				j.Vendor = Mixpanel{Host: testHost, Secret: testSecret, Days: 3}
				return j
			},
			[]string{"1999-12-30", "1999-12-31"}, []string{"1999-12-28 to 1999-12-29", "2000-01-01"},
		},
		"amplitude": {
			answerHours, amplitudeJob,
			[]string{"19991230T00 to 19991230T23", "19991231T00 to 19991231T23"},
			[]string{"19991228T00 to 19991228T23", "19991229T00 to 19991229T23", "20000101T00 to 20000101T23"},
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			time.Sleep(10 * 24 * time.Hour) // the bubble begins at 2000-01-01
			s := &service{handler: c.handler}
			folder, transport := t.TempDir(), s.serve(t)
			run := func(from, to string, begun int) Summary {
				shown := &watcher{}
				j := c.job(folder, from, to)
				j.transport, j.Progress = transport, shown
				sum := whole(t, j)
				require.Len(t, shown.notices, begun, "a run says how much is there already")
				return sum
			}
			run("1999-12-30", "1999-12-31", 0)
			require.Equal(t, c.first, s.requests())
			sum := run("1999-12-28", "2000-01-01", 1)
			require.Equal(t, append(c.first, c.second...), s.requests())
			require.Equal(t, len(c.second), sum.Fetched)
			require.Len(t, files(t, folder), sum.Parts)
			run("1999-12-28", "2000-01-01", 1)
			require.Len(t, s.requests(), len(c.first)+len(c.second))
		})
	}
}

// A range with too much in it is asked for by halves, which do not share an hour.
func TestTooLargeRanges(t *testing.T) {
	for name, c := range map[string]struct {
		tooLarge func(hours int, r *http.Request) bool
		status   int
		want     []string
		fails    string
	}{
		"above 6 hours": {func(hours int, _ *http.Request) bool { return hours > 6 }, 400, []string{
			"19991201T00 to 19991201T23", "19991201T00 to 19991201T11", "19991201T00 to 19991201T05", "19991201T06 to 19991201T11",
			"19991201T12 to 19991201T17", "19991201T18 to 19991201T23",
			"19991202T00 to 19991202T23", "19991202T00 to 19991202T11", "19991202T00 to 19991202T05", "19991202T06 to 19991202T11",
			"19991202T12 to 19991202T17", "19991202T18 to 19991202T23",
		}, ""},
		"one day only": {func(hours int, r *http.Request) bool {
			return hours > 12 && strings.HasPrefix(r.URL.Query().Get("start"), "19991201")
		}, 504, []string{
			"19991201T00 to 19991201T23", "19991201T00 to 19991201T11", "19991201T12 to 19991201T23", "19991202T00 to 19991202T23",
		}, ""},
		"always": {func(int, *http.Request) bool { return true }, 400, []string{
			"19991201T00 to 19991201T23", "19991201T00 to 19991201T11", "19991201T00 to 19991201T05", "19991201T00 to 19991201T02", "19991201T00",
		}, "19991201T00: Amplitude refused a single hour (400)"},
	} {
		inBubble(t, name, func(t *testing.T) {
			s, j, _ := begin(t, amplitudeJob, "1999-12-01", "1999-12-02", func(w http.ResponseWriter, r *http.Request) {
				first, _ := time.Parse("20060102T15", r.URL.Query().Get("start"))
				last, _ := time.Parse("20060102T15", r.URL.Query().Get("end"))
				if c.tooLarge(int(last.Sub(first)/time.Hour)+1, r) {
					w.WriteHeader(c.status)
					return
				}
				answerHours(w, r)
			})
			sum, err := j.Run(t.Context())
			require.Equal(t, c.want, s.requests())
			if c.fails != "" {
				requireProblem(t, KindOther, err, c.fails, "S3")
				return
			}
			require.NoError(t, err)
			require.EqualValues(t, 48, sum.Events)
		})
	}
}

// A part that twice does not arrive as a whole is asked for in smaller pieces too, where the
// service allows it.
func TestLargeRangesThatBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, j, shown := begin(t, mixpanelJob, "1999-12-27", "1999-12-28", func(w http.ResponseWriter, r *http.Request) {
			if q := r.URL.Query(); q.Get("from_date") != q.Get("to_date") {
				cut(w, []byte(line1), true)
			}
			answerDays(w, r)
		})
		j.Vendor = Mixpanel{Host: testHost, Secret: testSecret, Days: 2}
		whole(t, j)
		twice := "1999-12-27 to 1999-12-28"
		require.Equal(t, []string{twice, twice, "1999-12-27", "1999-12-28"}, s.requests())
		require.Contains(t, shown.notices[0], "smaller pieces")
	})
}

// Ranges without an event are files without an event.
func TestEmptyRanges(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		job     func(folder, from, to string) Job
	}{
		"mixpanel":         {func(http.ResponseWriter, *http.Request) {}, mixpanelJob},
		"mixpanel, packed": {func(w http.ResponseWriter, _ *http.Request) { write(gzipped(w), packed("")) }, mixpanelJob},
		"mixpanel, packed, of length 0": {func(w http.ResponseWriter, _ *http.Request) {
			gzipped(w).Header().Set("Content-Length", "0")
		}, mixpanelJob},
		"amplitude":                {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, amplitudeJob},
		"amplitude, empty archive": {func(w http.ResponseWriter, _ *http.Request) { write(w, zipped()) }, amplitudeJob},
	} {
		inBubble(t, name, func(t *testing.T) {
			s, j, _ := begin(t, c.job, "1999-12-01", "1999-12-02", c.handler)
			sum := whole(t, j)
			require.Equal(t, []int{2, 2}, []int{sum.Parts, sum.Empty})
			require.Zero(t, sum.Events)
			require.Len(t, files(t, j.Folder), 2)
			require.Len(t, s.requests(), 2)
			requireNoEvents(t, j)
		})
	}
}

// A day that is not over is not asked for, and a day that was asked for early is named.
func TestDaysThatCanChange(t *testing.T) {
	pacific, err := time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		vendor Vendor
		want   []string
		text   string
		early  int
	}{
		"mixpanel": {
			Mixpanel{Host: testHost, Secret: testSecret}, []string{"1999-12-30"},
			"1999-12-31 to 2000-01-01 can still change, and was not downloaded: run the same command again after 2000-01-02 12:00 UTC", 1,
		},
		"mixpanel in UTC": {
			Mixpanel{Host: testHost, Secret: testSecret, Zone: time.UTC}, []string{"1999-12-30", "1999-12-31"},
			"Mixpanel: 2000-01-01 can still change, and was not downloaded: run the same command again after 2000-01-02 00:00 UTC", 2,
		},
		"mixpanel in the west": {
			Mixpanel{Host: testHost, Secret: testSecret, Zone: pacific}, []string{"1999-12-30"}, "after 2000-01-02 08:00 UTC", 1,
		},
		"amplitude": {
			Amplitude{Host: testHost, APIKey: testKey, SecretKey: testSecret}, []string{"19991230T00 to 19991230T23", "19991231T00 to 19991231T22"},
			"19991231T23 to 20000101T23 can still change, and was not downloaded: run the same command again after 2000-01-02 02:00 UTC", 0,
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			time.Sleep(time.Hour) // the bubble begins with the year 2000
			s := &service{handler: func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has("start") {
					answerHours(w, r)
					return
				}
				answerDays(w, r)
			}}
			j := mixpanelJob(t.TempDir(), "1999-12-30", "2000-01-01")
			j.Vendor, j.transport = c.vendor, s.serve(t)
			sum, err := j.Run(t.Context())
			requireProblem(t, KindNotYet, err, c.text)
			require.Equal(t, c.want, s.requests())
			require.Len(t, files(t, j.Folder), len(c.want))
			require.Len(t, sum.Early, c.early)

			j.From = day("2000-01-01")
			_, err = j.Run(t.Context())
			requireProblem(t, KindNotYet, err, "can still change")
			require.Len(t, s.requests(), len(c.want))
		})
	}
}

// Late events are fetched with Again, into the same file.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := ""
		s, j, _ := begin(t, mixpanelJob, "1999-12-25", "1999-12-30", func(w http.ResponseWriter, r *http.Request) {
			answerDays(w, r)
			write(w, []byte(late))
		})
		run := func(requests, early, events int) {
			t.Helper()
			before := len(s.requests())
			sum := whole(t, j)
			require.Equal(t, []int{requests, early, events}, []int{len(s.requests()) - before, len(sum.Early), int(sum.Events)})
			require.Len(t, files(t, j.Folder), 6)
		}
		run(6, 5, 6) // at 2000-01-01: the day 12-25 ended over 5 days ago
		late = mixpanelLine("late")
		run(0, 5, 6)
		j.Again = true
		run(5, 5, 11)
		time.Sleep(4 * 24 * time.Hour)
		run(5, 1, 11)
		time.Sleep(2 * 24 * time.Hour)
		run(1, 0, 11)
		run(0, 0, 11)
	})
}

// A part is early if it was requested early, however long its answer takes: it lacks rows that arrive in the meantime.
// The same holds after a crash that came before the log entry.
func TestAPartIsEarlyIfItWasRequestedEarly(t *testing.T) {
	for name, tear := range map[string]bool{"in the log": false, "adopted": true} {
		inBubble(t, name, func(t *testing.T) {
			late := ""
			s, j, _ := begin(t, mixpanelJob, "1999-12-30", "1999-12-30", func(w http.ResponseWriter, r *http.Request) {
				text := late
				time.Sleep(10 * time.Minute)
				answerDays(w, r)
				write(w, []byte(text))
			})
			e, err := j.Vendor.plan()
			require.NoError(t, err)
			time.Sleep(time.Until(e.late(e.unitOf(j.To)).Add(-5 * time.Minute)))
			whole(t, j)
			late = mixpanelLine("late")
			if tear {
				log := filepath.Join(j.Folder, ownFolder, logName)
				text, err := os.ReadFile(log)
				require.NoError(t, err)
				first, _, _ := strings.Cut(string(text), "\n")
				require.NoError(t, os.WriteFile(log, []byte(first+"\n"), 0o600))
			}
			sum := whole(t, j)
			require.Len(t, sum.Early, 1)
			require.Len(t, s.requests(), 1)
			j.Again = true
			sum = whole(t, j)
			require.EqualValues(t, 2, sum.Events)
			require.Empty(t, sum.Early)
			whole(t, j)
			require.Len(t, s.requests(), 2)
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for text, vendor := range map[string]Vendor{
		"a secret of Mixpanel is missing: set MIXPANEL_SERVICE_ACCOUNT": Mixpanel{},
		"set MIXPANEL_PROJECT_ID to the number":                         Mixpanel{ServiceAccount: "me", Secret: testSecret},
		"is not a number":                                               Mixpanel{Secret: testSecret, Project: "my project"},
		"give 1 to 31":                                                  Mixpanel{Secret: testSecret, Days: 32},
		`Mixpanel has no region "mars": give one of us, eu, in`:         Mixpanel{Secret: testSecret, Region: "mars"},
		`Amplitude has no region "in": give one of us, eu`:              Amplitude{APIKey: testKey, SecretKey: testSecret, Region: "in"},
		"set AMPLITUDE_API_KEY and AMPLITUDE_SECRET_KEY":                Amplitude{APIKey: testKey},
		"would get the key unencrypted":                                 Amplitude{APIKey: testKey, SecretKey: testSecret, Host: "http://amplitude.example"},
		"give https:// and a name":                                      Amplitude{APIKey: testKey, SecretKey: testSecret, Host: "amplitude.com"},
	} {
		folder := filepath.Join(t.TempDir(), "new")
		_, err := Job{Vendor: vendor, From: day("2024-01-01"), To: day("2024-01-02"), Folder: folder}.Run(t.Context())
		requireProblem(t, KindOptions, err, text)
		require.NoDirExists(t, folder)
	}
	_, err := mixpanelJob(t.TempDir(), "2024-01-02", "2024-01-01").Run(t.Context())
	requireProblem(t, KindOptions, err, "the first day is after the last one")
}

func TestKeysAreNotInTheFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, j, _ := begin(t, mixpanelJob, "1999-12-01", "1999-12-03", answerDays)
		whole(t, j)
		require.NoError(t, filepath.WalkDir(j.Folder, func(path string, d os.DirEntry, err error) error {
			require.NoError(t, err)
			if d.IsDir() {
				return nil
			}
			text, err := os.ReadFile(path)
			require.NotContains(t, string(text), testSecret)
			if info, _ := d.Info(); runtime.GOOS != "windows" {
				require.EqualValues(t, 0o600, info.Mode().Perm(), fmt.Sprint(path))
			}
			return err
		}))
	})
}

// A day without a midnight ends the day before it at its first instant, which time.Date does not find.
func TestADayEndsAtTheFirstInstantOfTheNext(t *testing.T) {
	zone, err := time.LoadLocation("America/Santiago")
	require.NoError(t, err)
	last := time.Date(2026, 9, 5, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60)
	require.Equal(t, time.Date(2026, 9, 6, 4, 0, 0, 0, time.UTC), Mixpanel{Zone: zone}.over(int(last)))
}
