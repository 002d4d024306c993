package hogapitest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/exported"
)

// FileDownload describes an export on demand, to add it or to read it. A zero FileDownload has the status
// Completed.
type FileDownload struct {
	ID      uuid.UUID // a new one, where it is nil
	Status  hogapi.RunStatus
	Model   hogapi.Model
	Created time.Time // now, where it is zero
	Error   string
	Files   []File // shown once it has completed

	Records int // only when shown
}

// File is a file that the service keeps.
type File struct {
	ID      uuid.UUID // a new one, where it is nil
	Content []byte
	Late    time.Duration // from the end of the run until the service lists it, at least

	name string
}

// fileDownload is one as the server keeps it. A live one moves a step each time that it is shown by itself. Once it has
// completed, each look lists one more file, the last one first.
type fileDownload struct {
	FileDownload

	outcome Outcome
	step    int
	logs    []LogEntry
	ended   time.Time
	listed  int // files, from the end, unless they are late
}

func (d *fileDownload) live() bool { return isLive(d.Status) }

// AddFileDownload adds a file download. If its status is Starting or Running, each read moves it on, to the
// outcome that [Project.NextRuns] has set. Once it has completed, each read lists one more file, as the service lists
// them one by one, in any order. One that is added as Completed lists all files but late ones.
func (p *Project) AddFileDownload(x FileDownload) uuid.UUID {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	x.ID, x.Status, x.Created = or(x.ID, uuid.New()), or(x.Status, "Completed"), or(x.Created, p.server.now())
	x.Model = or(x.Model, hogapi.ModelEvents)
	x.Files = slices.Clone(x.Files)
	for i := range x.Files {
		x.Files[i].ID = or(x.Files[i].ID, uuid.New())
		x.Files[i].name = fmt.Sprintf("added-%d.jsonl", i)
		x.Records += bytes.Count(unpacked(x.Files[i].Content), []byte("\n"))
	}
	p.addFileDownload(x)
	return x.ID
}

func (p *Project) addFileDownload(x FileDownload) {
	d := &fileDownload{FileDownload: x, ended: x.Created, listed: len(x.Files)}
	if d.live() {
		d.outcome, d.listed = p.nextOutcome(x.Records), 0
	}
	p.downloads = append(p.downloads, d)
}

// visible are the files that the service lists, in the order of their names.
func (d *fileDownload) visible(now time.Time) (files []File) {
	for i, f := range d.Files {
		if i >= len(d.Files)-d.listed && !now.Before(d.ended.Add(f.Late)) {
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.name, b.name) })
	return files
}

// FileDownloads returns the project's file downloads in the order of their creation. It does not move them on.
func (p *Project) FileDownloads() []FileDownload {
	return seen(p, func() []*fileDownload { return p.downloads }, func(d *fileDownload) FileDownload { return d.FileDownload })
}

func (s *Server) listFileDownloads(r *request) answer {
	newest := slices.Clone(r.project.downloads)
	slices.Reverse(newest)
	return offsetPage(s, r, newest, func(d *fileDownload) object { return object{"id": d.ID, "status": d.Status} })
}

func (r *request) fileDownload() *fileDownload {
	return one(r.project.downloads, r.params["id"], func(d *fileDownload) uuid.UUID { return d.ID })
}

func (s *Server) getFileDownload(r *request) answer {
	d := r.fileDownload()
	o := object{"status": d.Status}
	if d.Status == "Completed" {
		d.listed++
		files := []uuid.UUID{}
		for _, f := range d.visible(r.now) {
			files = append(files, f.ID)
		}
		if len(files) == 0 && d.Records > 0 {
			o["status"] = "Running" // until the first file is listed
		} else {
			o["files"], o["records_completed"] = files, d.Records
		}
	}
	if d.Error != "" {
		o["error"] = d.Error
	}
	d.advance(r.now)
	return success(o)
}

// advance moves a live one a step on: Starting, Running, then its outcome.
func (d *fileDownload) advance(now time.Time) {
	if !d.live() {
		return
	}
	d.step++
	d.Status = "Running"
	if d.step >= d.outcome.Polls {
		d.Status, d.Error, d.ended = d.outcome.Status, d.outcome.Error, now
	}
}

func (s *Server) cancelFileDownload(r *request) answer {
	d := r.fileDownload()
	if !d.live() {
		return invalid("", "invalid_input", fmt.Sprintf("Cannot cancel a run that is in '%s' status", d.Status))
	}
	d.Status = "Cancelled"
	return success(object{"status": d.Status})
}

type fileRequest struct {
	model            hogapi.Model
	layout           exported.Layout
	include, exclude []string
	start, end       time.Time
}

func (s *Server) createFileDownload(r *request) answer {
	q := s.readFileRequest(readFields(r.body), r.now)
	live := 0
	for _, d := range r.project.downloads {
		if d.live() {
			live++
		}
	}
	if s.fileDownloadLimit > 0 && live >= s.fileDownloadLimit {
		return failure(http.StatusTooManyRequests, "server_error", "too_many_concurrent_file_downloads", "Too many concurrent file download batch exports for this team.", "")
	}
	x := FileDownload{ID: uuid.New(), Status: "Starting", Model: q.model, Created: r.now}
	rows := s.exported(r.project, q)
	x.Records, x.Files = len(rows), q.files(s, rows)
	r.project.addFileDownload(x)
	return reply(http.StatusAccepted, object{"id": x.ID})
}

// readFileRequest checks a request in the service's order.
func (s *Server) readFileRequest(c checker, now time.Time) (q fileRequest) {
	c.require("file", "model")
	choice(c, "model", &q.model, "events", "persons", "sessions", "hogql")
	c.value("include", &q.include, "Expected a list of items.")
	c.value("exclude", &q.exclude, "Expected a list of items.")
	c.when("data_interval_start", &q.start)
	c.when("data_interval_end", &q.end)
	file := checker{prefix: "file__"}
	c.value("file", &file.fields, "Invalid data. Expected a dictionary.")
	q.layout = exported.Layout{Model: string(q.model), Format: "Parquet", IsLegacy: new(false)}
	choice(file, "format", &q.layout.Format, "Parquet", "JSONLines")
	if !isNull(file.fields["compression"]) {
		choice(file, "compression", &q.layout.Compression, "zstd", "gzip", "brotli", "lz4", "snappy")
	}
	maxMiB := new(1024)
	if file.smallInt("max_size_mb", &maxMiB, 0, 1<<31-1); maxMiB != nil {
		q.layout.MaxMiB = new(int64(*maxMiB))
	}
	var query string
	c.text("hogql_query", &query)
	switch isQuery := q.model == "hogql"; {
	case isQuery && !s.hogqlExports:
		refuse(forbidden("HogQL batch exports are not enabled for this team."))
	case isQuery && (q.include != nil || q.exclude != nil):
		c.fail("", "invalid_input", "'include' and 'exclude' are not supported when 'model' is 'hogql'")
	case isQuery && query == "":
		c.fail("", "invalid_input", "'hogql_query' is required when 'model' is 'hogql'")
	case !isQuery && query != "":
		c.fail("", "invalid_input", "'hogql_query' is only supported when 'model' is 'hogql'")
	case !isQuery && !absent(c.fields["hogql_modifiers"]):
		c.fail("", "invalid_input", "'hogql_modifiers' are only supported when 'model' is 'hogql'")
	case !isQuery && (q.start.IsZero() || q.end.IsZero()):
		c.fail("", "invalid_input", "'data_interval_start' and 'data_interval_end' are required. Provide both bounds.")
	}
	c.checkInterval(q.start, q.end, now, query)
	return q
}

// checkInterval refuses bounds, and absent ones that a query names.
func (c checker) checkInterval(start, end, now time.Time, query string) {
	bounds := []struct {
		name string
		at   time.Time
	}{{"data_interval_start", start}, {"data_interval_end", end}}
	for _, bound := range bounds {
		if bound.at.IsZero() && strings.Contains(query, "{"+bound.name+"}") {
			c.fail(bound.name, "invalid_input", fmt.Sprintf("'%s' is required because the query references '{%[1]s}'.", bound.name))
		}
	}
	switch {
	case start.IsZero() || end.IsZero():
	case end.Before(start):
		c.fail("", "invalid_input", "'data_interval_end' must occur after 'data_interval_start'")
	case end.Sub(start) > 7*24*time.Hour:
		c.fail("", "invalid_input", "data interval range too big. Choose an interval of at most seven days.")
	}
	for _, bound := range bounds {
		if bound.at.After(now) {
			c.fail("", "invalid_input", fmt.Sprintf("The provided '%s' (%s) is in the future", bound.name, bound.at.Format("2006-01-02T15:04:05.999999-07:00")))
		}
	}
}

// files are the files of rows, as the service names them.
func (q fileRequest) files(s *Server, rows []exported.Row) (files []File) {
	of := exported.Interval{Start: q.start, End: q.end}
	for i, part := range s.parts(q.layout, rows) {
		files = append(files, File{ID: uuid.New(), Content: part.content, name: q.layout.Object(of, i)})
	}
	return files
}

// tableDays is how long the table of recent events keeps them. A file download of exactly 5 minutes reads no other.
const tableDays = 9

// exported are the rows that a request exports. After [Project.ExportEvents] these are the events that arrived in the
// interval; otherwise the events with a timestamp in it; a server without any events makes up 1,000.
func (s *Server) exported(p *Project, q fileRequest) (rows []exported.Row) {
	if t := &s.table; len(t.rows) > 0 || p.exportsEvents {
		isByArrival := p.exportsEvents && q.model == "events"
		isRecentOnly := isByArrival && q.end.Sub(q.start) == 5*time.Minute
		isOld := isByArrival && q.start.Before(s.now().AddDate(0, 0, -recentDays[s.era])) && !isRecentOnly
		end := or(q.end, s.now().AddDate(1, 0, 0)) // a query needs no bounds
		chosen := p.rows(span{q.start, end}, !isByArrival, q.include, q.exclude)
		chosen = slices.DeleteFunc(chosen, func(i int32) bool {
			r := &t.rows[i]
			isGone := isRecentOnly && r.created.Before(s.now().AddDate(0, 0, -tableDays))
			return isGone || isOld && (r.at.Before(q.start.AddDate(0, 0, -7)) || !r.at.Before(q.end.AddDate(0, 0, 1)))
		})
		return p.stored(t.once(chosen))
	}
	at := or(q.start, s.now())
	for i := range defaultRecords {
		rows = append(rows, exported.Row{UUID: uuid.NewString(), Event: "made up", DistinctID: strconv.Itoa(i), TeamID: p.team, Timestamp: at, Created: at, Inserted: at})
	}
	return rows
}

// unpacked is a content without gzip.
func unpacked(content []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return content
	}
	plain, _ := io.ReadAll(r)
	return plain
}

// packed is a content in gzip.
func packed(content []byte) []byte {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write(content)
	_ = w.Close()
	return zipped.Bytes()
}

func (s *Server) countRows(r *request) answer {
	var model, query string
	var start, end time.Time
	c := readFields(r.body)
	c.require("model", "hogql_query")
	choice(c, "model", &model, "hogql")
	c.text("hogql_query", &query)
	c.when("data_interval_start", &start)
	c.when("data_interval_end", &end)
	c.checkInterval(start, end, r.now, query)
	if !s.hogqlExports {
		return forbidden("HogQL batch exports are not enabled for this team.")
	}
	return success(object{"count": len(s.exported(r.project, fileRequest{model: "hogql", start: start, end: end}))})
}
