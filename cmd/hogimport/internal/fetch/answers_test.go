package fetch

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bad is an answer that counts as failed, and the text that the user sees.
type bad struct {
	answer http.HandlerFunc
	reason string
}

func write(w http.ResponseWriter, text []byte) { _, _ = w.Write(text) }

// cut ends an answer in the middle: of a length that was named, or of chunks.
func cut(w http.ResponseWriter, text []byte, named bool) {
	if named {
		w.Header().Set("Content-Length", strconv.Itoa(len(text)+100))
	}
	write(w, text)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func gzipped(w http.ResponseWriter) http.ResponseWriter {
	w.Header().Set("Content-Encoding", "gzip")
	return w
}

// withoutEnd answers by closing the connection, so that an end that is cut off cannot be seen.
func withoutEnd(w http.ResponseWriter, text string) {
	c, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(buffered, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"+text)
	_ = buffered.Flush()
	_ = c.Close()
}

var line1, line2 = mixpanelLine("a"), mixpanelLine("b")

// A Mixpanel export that has failed can have the status 200. No such answer gets the name of a part, and the next try does.
func TestMixpanelAnswersThatAreNotWhole(t *testing.T) {
	half := line2[:len(line2)/2]
	for name, c := range map[string]bad{
		"in the middle of a line":          {func(w http.ResponseWriter, _ *http.Request) { write(w, []byte(line1+half)) }, "line 2 is not a JSON object"},
		"the same, packed":                 {func(w http.ResponseWriter, _ *http.Request) { write(gzipped(w), packed(line1+half)) }, "line 2 is not a JSON object"},
		"without the last newline":         {func(w http.ResponseWriter, _ *http.Request) { write(w, []byte(line1[:len(line1)-1])) }, "middle of a line"},
		"terminated early":                 {func(w http.ResponseWriter, _ *http.Request) { write(w, []byte(line1+"export terminated early\n")) }, "line 2 says that the service ended the export early"},
		"terminated early, no newline":     {func(w http.ResponseWriter, _ *http.Request) { write(w, []byte("terminated early")) }, "ended the export early"},
		"terminated early within a line":   {func(w http.ResponseWriter, _ *http.Request) { write(w, []byte(line1+half+"terminated early\n")) }, "line 2 is not a JSON object"},
		"terminated early, packed":         {func(w http.ResponseWriter, _ *http.Request) { write(gzipped(w), packed(line1+"terminated early\n")) }, "ended the export early"},
		"a line torn in the middle":        {func(w http.ResponseWriter, _ *http.Request) { write(w, []byte(half+line1+line2)) }, "line 1 is not a JSON object"},
		"a page of a proxy":                {func(w http.ResponseWriter, _ *http.Request) { write(w, []byte("<html>sorry</html>\n")) }, "line 1 is not a JSON object"},
		"an error as JSON":                 {func(w http.ResponseWriter, _ *http.Request) { write(w, []byte(`{"error":"timeout"}`+"\n")) }, "not an event"},
		"shorter than its length":          {func(w http.ResponseWriter, _ *http.Request) { cut(w, []byte(line1), true) }, "cut off"},
		"chunks without an end":            {func(w http.ResponseWriter, _ *http.Request) { cut(w, []byte(line1), false) }, "cut off"},
		"packed, shorter than its length":  {func(w http.ResponseWriter, _ *http.Request) { cut(gzipped(w), packed(line1), true) }, "cut off"},
		"packed, truncated at the trailer": {func(w http.ResponseWriter, _ *http.Request) { write(gzipped(w), packed(line1)[:len(packed(line1))-3]) }, "compressed data"},
		"packed, damaged": {func(w http.ResponseWriter, _ *http.Request) {
			text := packed(line1)
			text[len(text)-7] ^= 1 // in the sum
			write(gzipped(w), text)
		}, "compressed data"},
		"packed, nothing of it": {func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(gzipped(w)).Flush()
		}, "compressed data"},
		"packed otherwise": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			write(w, []byte(line1))
		}, "unexpected encoding"},
		"the end of the answer is not marked": {func(w http.ResponseWriter, _ *http.Request) { withoutEnd(w, line1) }, "the end of the answer is not marked"},
		"nothing more arrives": {func(w http.ResponseWriter, r *http.Request) {
			write(w, []byte(line1))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "nothing has arrived for 5 minutes"},
	} {
		t.Run(name, func(t *testing.T) { requireRetried(t, mixpanelJob, c, []byte(line1+line2)) })
	}
}

// requireRetried requires that a bad answer is followed by another request, and that it is an error if it stays so.
func requireRetried(t *testing.T, job func(folder, from, to string) Job, c bad, good []byte) {
	for _, always := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			_, j, shown := begin(t, job, "1999-12-01", "1999-12-01", func(w http.ResponseWriter, r *http.Request) {
				if tries++; tries == 1 || always {
					c.answer(w, r)
					return
				}
				write(w, good)
			})
			sum, err := j.Run(t.Context())
			require.NotEmpty(t, shown.waits)
			require.Contains(t, shown.waits[0], c.reason)
			if !always {
				require.NoError(t, err)
				require.EqualValues(t, 2, sum.Events)
				require.Len(t, files(t, j.Folder), 1)
				require.Equal(t, 2, tries)
				return
			}
			requireProblem(t, KindOther, err, c.reason, "run the same command again later")
			require.Empty(t, files(t, j.Folder))
			require.Zero(t, shown.held)
		})
	}
}

func TestAmplitudeAnswersThatAreNotWhole(t *testing.T) {
	row := `{"event_type":"seen","uuid":"0d0a2b9e-d7a1-11ee-8f5a-6b2f4d1c9e01"}` + "\n"
	good := zipped(row, row)
	damaged := func(i int) []byte {
		text := append([]byte(nil), good...)
		text[i] ^= 0xff
		return text
	}
	oneHour := func(folder, from, to string) Job {
		j := amplitudeJob(folder, from, to)
		j.Vendor = oneHourSteps{j.Vendor.(Amplitude)}
		return j
	}
	for name, c := range map[string]bad{
		"the archive cut off":   {func(w http.ResponseWriter, _ *http.Request) { write(w, good[:len(good)-10]) }, "zip archive is damaged or cut off"},
		"a packed file cut off": {func(w http.ResponseWriter, _ *http.Request) { write(w, archive(packed(row)[:20])) }, "cut off"},
		"a packed file damaged": {func(w http.ResponseWriter, _ *http.Request) { write(w, damaged(80)) }, "damaged"},
		"the archive's sum wrong": {func(w http.ResponseWriter, _ *http.Request) {
			write(w, damaged(bytes.Index(good, []byte("PK\x01\x02"))+16))
		}, "damaged"},
		"half a row":                {func(w http.ResponseWriter, _ *http.Request) { write(w, zipped(row+row[:20])) }, "line 2 is not a JSON object"},
		"nothing":                   {func(http.ResponseWriter, *http.Request) {}, "the archive is empty"},
		"a page of a proxy":         {func(w http.ResponseWriter, _ *http.Request) { write(w, []byte("<html>")) }, "zip archive"},
		"shorter than its length":   {func(w http.ResponseWriter, _ *http.Request) { cut(w, good, true) }, "cut off"},
		"chunks without an end":     {func(w http.ResponseWriter, _ *http.Request) { cut(w, good, false) }, "cut off"},
		"closed, with no more said": {func(w http.ResponseWriter, _ *http.Request) { withoutEnd(w, string(good[:50])) }, "zip archive"},
	} {
		t.Run(name, func(t *testing.T) { requireRetried(t, oneHour, c, good) })
	}
}

// oneHourSteps is Amplitude for one hour of the day.
type oneHourSteps struct{ Amplitude }

func (o oneHourSteps) plan() (export, error) {
	e, err := o.Amplitude.plan()
	e.unit, e.layout = 24*time.Hour, time.DateOnly // a day in place of an hour, which cannot be cut
	e.step = 1
	return e, err
}

// A whole answer is kept byte for byte.
func TestWholeAnswers(t *testing.T) {
	good := packed(line1 + line2)
	for name, answer := range map[string]http.HandlerFunc{
		"plain":  func(w http.ResponseWriter, _ *http.Request) { write(w, []byte(line1+line2)) },
		"packed": func(w http.ResponseWriter, _ *http.Request) { write(gzipped(w), good) },
		"packed, end": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(good)))
			write(gzipped(w), good)
		},
		"in members": func(w http.ResponseWriter, _ *http.Request) {
			write(gzipped(w), append(packed(line1), packed(line2)...))
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			_, j, _ := begin(t, mixpanelJob, "1999-12-01", "1999-12-01", answer)
			sum := whole(t, j)
			assert.EqualValues(t, 2, sum.Events)
			assert.Equal(t, []string{"mixpanel-1999-12-01.json.gz"}, files(t, j.Folder))
			assert.Equal(t, line1+line2, unpacked(t, filepath.Join(j.Folder, "mixpanel-1999-12-01.json.gz")))
		})
	}
}

// For each status that stays: the kind of the problem, the text, and how long it was tried.
func TestStatuses(t *testing.T) {
	for _, c := range []struct {
		status      int
		kind        Kind
		text        string
		least, most time.Duration
	}{
		{http.StatusUnauthorized, KindKey, "Mixpanel refused the key (401 Unauthorized): check the service account", 0, 0},
		{http.StatusForbidden, KindKey, "refused the key (403 Forbidden)", 0, 0},
		{http.StatusPaymentRequired, KindKey, "check that the project's plan has the export", 0, 0},
		{http.StatusBadRequest, KindOther, "refused the request for 1999-12-01 (400 Bad Request)", 0, 0},
		{http.StatusNotFound, KindOther, "(404 Not Found)", 0, 0},
		{http.StatusNoContent, KindOther, "(204 No Content)", 0, 0},
		{http.StatusFound, KindOptions, "a redirect (302 Found), which is not followed", 0, 0},
		{http.StatusInternalServerError, KindOther, "Mixpanel answered 500 Internal Server Error", 50 * time.Minute, time.Hour},
		{http.StatusGatewayTimeout, KindOther, "Mixpanel answered 504 Gateway Timeout", 50 * time.Minute, time.Hour},
		{http.StatusRequestTimeout, KindOther, "Mixpanel answered 408 Request Timeout", 50 * time.Minute, time.Hour},
		{http.StatusTooManyRequests, KindStopped, "Mixpanel has had too many requests (429), and still refuses more", 150 * time.Minute, 3 * time.Hour},
	} {
		inBubble(t, fmt.Sprint(c.status), func(t *testing.T) {
			_, j, shown := begin(t, mixpanelJob, "1999-12-01", "1999-12-01", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "https://elsewhere.example/?key="+testSecret)
				w.WriteHeader(c.status)
			})
			begin := time.Now()
			_, err := j.Run(t.Context())
			requireProblem(t, c.kind, err, c.text)
			require.NotContains(t, err.Error(), "--region", "the host was given")
			assert.GreaterOrEqual(t, time.Since(begin), c.least)
			assert.LessOrEqual(t, time.Since(begin), c.most)
			assert.Equal(t, time.Since(begin), shown.lasting, "every wait is shown")
			assert.Empty(t, files(t, j.Folder))
		})
	}
}

// The advice names the flag of the service's address: the one that was given, or else --region.
func TestWhatToDoNamesTheFlagThatWasGiven(t *testing.T) {
	for flag, vendors := range map[string][]Vendor{
		"--region":      {Mixpanel{Secret: testSecret}, Amplitude{APIKey: testKey, SecretKey: testSecret}},
		"--export-host": {Mixpanel{Host: testHost, Secret: testSecret}, Amplitude{Host: testHost, APIKey: testKey, SecretKey: testSecret}},
	} {
		for _, v := range vendors {
			e, err := v.plan()
			require.NoError(t, err)
			r := &run{export: &e, reached: true}
			for _, status := range []int{http.StatusUnauthorized, http.StatusFound, http.StatusTeapot} {
				_, _, err := r.judgeStatus(&refusal{status: status}, span{}, false, &patience{})
				require.ErrorContains(t, err, flag, status)
			}
			_, _, err = r.judgeOutage("down", 2*outage, &patience{})
			require.ErrorContains(t, err, "check the network and "+flag)
		}
	}
}

// A service that can be used again after some time is, and the wait that it asks for is kept.
func TestWaits(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		after  string
		times  int
		want   time.Duration
		reason string
	}{
		"too many":                  {429, "", 3, (1 + 2 + 4) * time.Minute, "too many requests (429)"},
		"too many, for seconds":     {429, "1234", 2, 2 * 1234 * time.Second, "too many requests (429)"},
		"too many, until a date":    {429, "Sat, 01 Jan 2000 00:45:00 GMT", 1, 45 * time.Minute, "too many requests (429)"},
		"too many, for no time":     {429, "0", 1, time.Minute, "too many requests (429)"},
		"too many, for a moment":    {429, "0.2", 2, 2 * time.Second, "too many requests (429)"},
		"out of order":              {503, "", 4, (1 + 2 + 4 + 8) * time.Second, "answered 503 Service Unavailable"},
		"out of order, for a while": {503, "600", 2, 2 * 600 * time.Second, "answered 503 Service Unavailable"},
	} {
		inBubble(t, name, func(t *testing.T) {
			n := 0
			_, j, shown := begin(t, mixpanelJob, "1999-12-01", "1999-12-01", func(w http.ResponseWriter, r *http.Request) {
				if n++; n <= c.times {
					if c.after != "" {
						w.Header().Set("Retry-After", c.after)
					}
					w.WriteHeader(c.status)
					return
				}
				answerDays(w, r)
			})
			begin := time.Now()
			whole(t, j)
			require.Equal(t, c.want, time.Since(begin))
			require.Len(t, shown.waits, c.times)
			require.Contains(t, shown.waits[0], c.reason)
		})
	}
}

// Who is asked to come back tomorrow is not kept waiting.
func TestLongWaits(t *testing.T) {
	for _, after := range []string{"86400", "99999999999999999999"} {
		synctest.Test(t, func(t *testing.T) {
			_, j, _ := begin(t, mixpanelJob, "1999-12-01", "1999-12-01", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", after)
				w.WriteHeader(429)
			})
			begin := time.Now()
			_, err := j.Run(t.Context())
			requireProblem(t, KindStopped, err, "asks to wait until 200", "UTC: run the same command again then")
			require.Zero(t, time.Since(begin))
		})
	}
}

// The time for which a service refuses more requests does not count as one in which it is out of order, and the other way
// round. An answer that is not whole ends both.
func TestWaitsForTooManyRequestsAreNoOutage(t *testing.T) {
	for name, statuses := range map[string][]int{ // each wait is 50 minutes: in all longer than an outage, and than 3 hours of too many requests
		"by turns": {503, 429, 429, 503, 429, 429, 503, 429, 503},
		"broken":   {503, 200, 503, 200, 429, 429, 429, 200, 429, 429, 429},
	} {
		inBubble(t, name, func(t *testing.T) {
			waits := 0
			s, j, _ := begin(t, mixpanelJob, "1999-12-01", "1999-12-01", nil)
			s.handler = func(w http.ResponseWriter, r *http.Request) {
				n := len(s.requests())
				switch {
				case n > len(statuses):
					answerDays(w, r)
				case statuses[n-1] == http.StatusOK:
					write(w, []byte("terminated early"))
				default:
					w.Header().Set("Retry-After", strconv.Itoa(50*60))
					w.WriteHeader(statuses[n-1])
					waits++
				}
			}
			begin := time.Now()
			whole(t, j)
			require.Equal(t, time.Duration(waits)*50*time.Minute, time.Since(begin).Truncate(10*time.Minute))
		})
	}
}

// 60 requests an hour and 3 a second are not exceeded: not within a run, nor by runs that follow each other.
func TestMixpanelsLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{handler: answerDays}
		folder, transport := t.TempDir(), s.serve(t)
		var waits []string
		for _, days := range [][2]string{{"1999-08-01", "1999-08-10"}, {"1999-08-11", "1999-08-30"}, {"1999-08-01", "1999-12-01"}} {
			shown := &watcher{}
			j := mixpanelJob(folder, days[0], days[1])
			j.transport, j.Progress = slowly{transport, &s.times}, shown
			whole(t, j)
			waits = append(waits, shown.waits...)
		}
		require.Len(t, s.times, 123)
		for i := range s.times {
			if i >= 3 {
				require.GreaterOrEqual(t, s.times[i].Sub(s.times[i-3]), time.Second)
			}
			if i >= 60 {
				require.GreaterOrEqual(t, s.times[i].Sub(s.times[i-60]), time.Hour)
			}
		}
		require.Less(t, s.times[59].Sub(s.times[0]), time.Minute)
		require.NotEmpty(t, waits)
		require.Contains(t, waits[0], "  Mixpanel takes 60 requests an hour: waiting until ")
	})
}

// slowly has a way to the service that takes almost 2 seconds for some requests, the last ones of a run among them.
type slowly struct {
	http.RoundTripper

	times *[]time.Time
}

func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(*s.times)%5 == 4 {
		time.Sleep(1900 * time.Millisecond)
	}
	return s.RoundTripper.RoundTrip(r)
}

// A range that takes too long before there is an answer is cut, too.
func TestNoAnswerInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		s.handler = func(w http.ResponseWriter, r *http.Request) {
			if len(s.requests()) == 1 {
				<-r.Context().Done()
				return
			}
			answerHours(w, r)
		}
		j := amplitudeJob(t.TempDir(), "1999-12-01", "1999-12-01")
		j.transport = s.serve(t)
		whole(t, j)
		require.Equal(t, []string{"19991201T00 to 19991201T23", "19991201T00 to 19991201T11", "19991201T12 to 19991201T23"}, s.requests())
	})
}

// A slow answer is read as long as bytes arrive.
func TestSlowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, j, _ := begin(t, mixpanelJob, "1999-12-01", "1999-12-01", func(w http.ResponseWriter, _ *http.Request) {
			for i := range len(line1) {
				write(w, []byte(line1[i:i+1]))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(4 * time.Minute)
			}
		})
		sum := whole(t, j)
		require.EqualValues(t, 1, sum.Events)
		require.Len(t, s.requests(), 1)
	})
}
