package vendortest

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/hogapi/hogapi/internal/testevents"
)

const (
	hourForm = "20060102T15"
	partRows = 10     // records in one file of the zip
	app      = 318274 // the project's number, in the names of files
	// exportDelay is the time until a record can be exported.
	exportDelay = 2 * time.Hour
)

// Amplitude is the export API, GET /api/2/export, of one project. An event belongs to the hour in
// which the server stored it, not to the hour in which it happened.
type Amplitude struct {
	server
	events   []Event
	maxBytes int64
}

// NewAmplitude returns a server that holds events. No zip is larger than maxBytes; 0 stands for 4 GB.
func NewAmplitude(events []Event, maxBytes int64) *Amplitude {
	a := &Amplitude{maxBytes: cmp.Or(maxBytes, 4<<30)}
	a.events = slices.SortedStableFunc(slices.Values(events), func(x, y Event) int { return x.Received.Compare(y.Received) })
	a.path, a.check, a.answer = "/api/2/export", a.ask, a.give
	return a
}

// Hour returns the hour in which the export has an event, such as 20240301T05.
func (a *Amplitude) Hour(e Event) string { return e.Received.UTC().Format(hourForm) }

func (a *Amplitude) ask(r *http.Request, asked *Request) *failure {
	if key, secret, _ := r.BasicAuth(); key != Key || secret != Secret {
		return refusal(http.StatusUnauthorized, "Invalid API key or secret key")
	}
	start, noStart := time.Parse(hourForm, asked.Query.Get("start"))
	end, noEnd := time.Parse(hourForm, asked.Query.Get("end"))
	switch {
	case noStart != nil, noEnd != nil:
		return refusal(http.StatusBadRequest, "start and end must have the form YYYYMMDDTHH")
	case end.Before(start):
		return refusal(http.StatusBadRequest, "end is before start")
	case end.Add(time.Hour).Sub(start) > 365*24*time.Hour:
		return refusal(http.StatusBadRequest, "the range is longer than 365 days")
	}
	asked.From, asked.To, asked.Step = start, end, time.Hour
	return nil
}

func (a *Amplitude) give(w http.ResponseWriter, _ *http.Request, asked *Request) ([]byte, *failure) {
	ready, end := time.Now().Add(-exportDelay), asked.To.Add(time.Hour)
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	var part []byte
	var hour time.Time
	number, rows := 0, 0
	flush := func() {
		if len(part) == 0 {
			return
		}
		// The numbers of parts are not consecutive, and the hour has no leading zero.
		number += 1 + (rows*7)%13
		name := fmt.Sprintf("%d/%d_%s_%d#%d.json.gz", app, app, hour.Format(time.DateOnly), hour.Hour(), number)
		member, _ := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store, Modified: hour})
		_, _ = io.WriteString(member, testevents.Gzip(string(part)))
		part, rows = nil, 0
	}
	for _, e := range a.events {
		at := e.Received.UTC()
		if at.Before(asked.From) || !at.Before(end) || at.After(ready) {
			continue
		}
		if h := at.Truncate(time.Hour); h != hour || rows >= partRows {
			flush()
			hour = h
		}
		line := a.record(e)
		for range e.Copies {
			part = append(append(part, line...), '\n')
			rows++
		}
	}
	flush()
	_ = archive.Close() // into memory
	switch {
	case number == 0:
		return nil, refusal(http.StatusNotFound, "Raw data files were not found.")
	case int64(packed.Len()) > a.maxBytes:
		return nil, refusal(http.StatusBadRequest, "The export is larger than %d bytes: shorten the range", a.maxBytes)
	}
	w.Header().Set("Content-Type", "application/zip")
	return packed.Bytes(), nil
}

// record returns one line of a file, with the fields that are read. Tests of formats/amplitude have all fields of a
// real export.
func (a *Amplitude) record(e Event) []byte {
	stamp := func(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05.000") + "000" }
	text := func(s string) any { return map[bool]any{true: s}[s != ""] }
	name, properties := e.Name, map[string]any{"plan": e.Plan}
	if name == "page" {
		name = "[Amplitude] Page Viewed"
		properties["[Amplitude] Page URL"] = "https://shop.example/cart"
	}
	record := map[string]any{
		"uuid": e.ID, "$insert_id": "ajs-" + e.ID[:8] + ":" + e.Device, "event_type": name,
		"event_time": stamp(e.Time), "client_event_time": stamp(e.Time.Add(-112 * time.Millisecond)), "server_upload_time": stamp(e.Received),
		"user_id": text(e.User), "device_id": text(e.Device), "session_id": e.Time.Truncate(time.Hour).UnixMilli(),
		"event_properties": properties, "user_properties": map[string]any{"plan": e.Plan, "initial_utm_source": "EMPTY"},
	}
	line, _ := json.Marshal(record) //nolint:errchkjson // it has texts and numbers only
	return line
}
