package fetch

import (
	"bytes"
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
		"packed, truncated at the trailer": {func(w http.ResponseWriter, _ *http.Request) { write(gzipped(w), packed(line1)[:len(packed(line1))-3]) }, "packed form"},
		"packed, damaged": {func(w http.ResponseWriter, _ *http.Request) {
			text := packed(line1)
			text[len(text)-7] ^= 1 // in the sum
			write(gzipped(w), text)
		}, "packed form"},
		"packed, nothing of it": {func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(gzipped(w)).Flush()
		}, "packed form"},
		"packed otherwise": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			write(w, []byte(line1))
		}, "not asked for"},
		"nothing says where it ends": {func(w http.ResponseWriter, _ *http.Request) { withoutEnd(w, line1) }, "nothing says where it ends"},
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
			s := &service{handler: func(w http.ResponseWriter, r *http.Request) {
				if tries++; tries == 1 || always {
					c.answer(w, r)
					return
				}
				write(w, good)
			}}
			shown := &watcher{}
			j := job(t.TempDir(), "1999-12-01", "1999-12-01")
			j.transport, j.Progress = s.serve(t), shown
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
			require.Zero(t, shown.whole)
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
		"a packed file cut off": {func(w http.ResponseWriter, _ *http.Request) { write(w, zippedRaw(packed(row)[:20])) }, "cut off"},
		"a packed file damaged": {func(w http.ResponseWriter, _ *http.Request) { write(w, damaged(80)) }, "damaged"},
		"the archive's sum wrong": {func(w http.ResponseWriter, _ *http.Request) {
			write(w, damaged(bytes.Index(good, []byte("PK\x01\x02"))+16))
		}, "damaged"},
		"half a row":                {func(w http.ResponseWriter, _ *http.Request) { write(w, zipped(row+row[:20])) }, "line 2 is not a JSON object"},
		"nothing":                   {func(http.ResponseWriter, *http.Request) {}, "it is empty"},
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
		"plain":       func(w http.ResponseWriter, _ *http.Request) { write(w, []byte(line1+line2)) },
		"packed":      func(w http.ResponseWriter, _ *http.Request) { write(gzipped(w), good) },
		"packed, end": func(w http.ResponseWriter, _ *http.Request) { cutless(gzipped(w), good) },
		"in members": func(w http.ResponseWriter, _ *http.Request) {
			write(gzipped(w), append(packed(line1), packed(line2)...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &service{handler: answer}
				j := mixpanelJob(t.TempDir(), "1999-12-01", "1999-12-01")
				j.transport = s.serve(t)
				sum, err := j.Run(t.Context())
				require.NoError(t, err)
				assert.EqualValues(t, 2, sum.Events)
				assert.Equal(t, []string{"mixpanel-1999-12-01.json.gz"}, files(t, j.Folder))
				assert.Equal(t, line1+line2, unpacked(t, filepath.Join(j.Folder, "mixpanel-1999-12-01.json.gz")))
			})
		})
	}
}

// cutless writes with the length named.
func cutless(w http.ResponseWriter, text []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	write(w, text)
}
