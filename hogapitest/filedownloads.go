package hogapitest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
)

// FileDownload seeds an export on demand, and shows one. Zero values become one that has Completed.
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
}

// fileDownload is one as the server keeps it. A live one moves a step each time that it is shown by itself.
type fileDownload struct {
	FileDownload

	outcome Outcome
	step    int
}

func (d *fileDownload) live() bool { return d.Status == "Starting" || d.Status == "Running" }

// AddFileDownload adds a file download. A live one (Starting, Running) moves on as it is read, to the outcome that
// [Project.NextRuns] says.
func (p *Project) AddFileDownload(x FileDownload) uuid.UUID {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	x.ID, x.Status, x.Created = or(x.ID, uuid.New()), or(x.Status, "Completed"), or(x.Created, p.server.now())
	x.Model = or(x.Model, hogapi.ModelEvents)
	x.Files = slices.Clone(x.Files)
	for i := range x.Files {
		x.Files[i].ID = or(x.Files[i].ID, uuid.New())
		x.Records += bytes.Count(x.Files[i].Content, []byte("\n"))
	}
	p.addFileDownload(x)
	return x.ID
}

func (p *Project) addFileDownload(x FileDownload) {
	d := &fileDownload{FileDownload: x, outcome: Outcome{Status: "Completed", Polls: p.server.polls, Records: x.Records}}
	if d.live() {
		if next := &p.outcomes; len(*next) > 0 {
			d.outcome, *next = (*next)[0].or(d.outcome), (*next)[1:]
		}
	}
	p.downloads = append(p.downloads, d)
}

// FileDownloads shows the project's file downloads in the order of their making. Looking at them here moves nothing.
func (p *Project) FileDownloads() []FileDownload {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	var list []FileDownload
	for _, d := range p.downloads {
		list = append(list, d.FileDownload)
	}
	return list
}

func (s *Server) listFileDownloads(r *request) answer {
	all := r.project.downloads
	return s.offsetPage(r, len(all), func(i int) any {
		d := all[len(all)-1-i]
		return object{"id": d.ID, "status": d.Status}
	})
}

// fileDownload finds the one of the path.
func (r *request) fileDownload() *fileDownload {
	id, err := uuid.Parse(r.params["id"])
	if err != nil {
		return nil
	}
	for _, d := range r.project.downloads {
		if d.ID == id {
			return d
		}
	}
	return nil
}

func (s *Server) getFileDownload(_ *request, d *fileDownload) answer {
	o := object{"status": d.Status}
	if d.Status == "Completed" {
		files := []uuid.UUID{}
		for _, f := range d.Files {
			files = append(files, f.ID)
		}
		o["files"], o["records_completed"] = files, d.Records
	}
	if d.Error != "" {
		o["error"] = d.Error
	}
	d.advance()
	return reply(http.StatusOK, o)
}

// advance moves a live one a step on: Starting, Running, then its outcome.
func (d *fileDownload) advance() {
	if !d.live() {
		return
	}
	d.step++
	d.Status = "Running"
	if d.step >= d.outcome.Polls {
		d.Status, d.Error = d.outcome.Status, d.outcome.Error
	}
}

func (s *Server) cancelFileDownload(_ *request, d *fileDownload) answer {
	if !d.live() {
		return invalid("", "invalid_input", fmt.Sprintf("Cannot cancel a run that is in '%s' status", d.Status))
	}
	d.Status = "Cancelled"
	return reply(http.StatusOK, object{"status": d.Status})
}

// fileRequest is the body of a request for a file download.
type fileRequest struct {
	model, format, compression string
	include, exclude           []string
	start, end                 *time.Time
}

func (s *Server) createFileDownload(r *request) answer {
	f, refusal := readFields(r.body)
	if refusal != nil {
		return *refusal
	}
	q, refusal := s.readFileRequest(f, r.now)
	if refusal != nil {
		return *refusal
	}
	live := 0
	for _, d := range r.project.downloads {
		if d.live() {
			live++
		}
	}
	if s.fileDownloadLimit > 0 && live >= s.fileDownloadLimit {
		return failure(http.StatusTooManyRequests, "server_error", "too_many_concurrent_file_downloads", "Too many concurrent file download batch exports for this team.", "")
	}
	x := FileDownload{ID: uuid.New(), Status: "Starting", Model: hogapi.Model(q.model), Created: r.now}
	var content []byte
	if content, x.Records = s.exported(r.project, q); x.Records > 0 {
		x.Files = []File{{ID: uuid.New(), Content: content}}
	}
	r.project.addFileDownload(x)
	return reply(http.StatusAccepted, object{"id": x.ID})
}

// readFileRequest checks a request in the service's order.
func (s *Server) readFileRequest(f fields, now time.Time) (q fileRequest, refusal *answer) {
	refuse := func(a answer) (fileRequest, *answer) { return q, &a }
	c := &checker{fields: f}
	c.require("file", "model")
	c.choice("model", &q.model, "events", "persons", "sessions", "hogql")
	c.value("include", &q.include, "Expected a list of items.")
	c.value("exclude", &q.exclude, "Expected a list of items.")
	c.when("data_interval_start", &q.start)
	c.when("data_interval_end", &q.end)
	file := &checker{fields: fields{}, prefix: "file__"}
	if c.value("file", &file.fields, "Invalid data. Expected a dictionary.") {
		q.format = "Parquet"
		file.choice("format", &q.format, "Parquet", "JSONLines")
		if !isNull(file.fields["compression"]) {
			file.choice("compression", &q.compression, "zstd", "gzip", "brotli", "lz4", "snappy")
		}
		var size *int
		file.smallInt("max_size_mb", &size, 0, 1<<31-1)
		if c.problem == nil {
			c.problem = file.problem
		}
	}
	if c.problem != nil {
		return q, c.problem
	}
	if q.model != "hogql" {
		for _, name := range []string{"hogql_query", "hogql_modifiers"} {
			if raw, ok := f[name]; ok && !isNull(raw) {
				return refuse(invalid(name, "invalid_input", fmt.Sprintf("'%s' is only supported when 'model' is 'hogql'", name)))
			}
		}
		if q.start == nil || q.end == nil {
			return refuse(invalid("", "invalid_input", "'data_interval_start' and 'data_interval_end' are required. Provide both bounds."))
		}
	} else {
		if !s.hogqlExports {
			return refuse(forbidden("HogQL batch exports are not enabled for this team."))
		}
		if raw := f["hogql_query"]; len(raw) == 0 || isNull(raw) {
			return refuse(invalid("hogql_query", "invalid_input", "'hogql_query' is required when 'model' is 'hogql'"))
		}
		if len(q.include)+len(q.exclude) > 0 {
			return refuse(invalid("", "invalid_input", "'include' and 'exclude' are not supported when 'model' is 'hogql'"))
		}
	}
	if problem := badInterval(q.start, q.end, now); problem != "" {
		return refuse(invalid("", "invalid_input", problem))
	}
	return q, nil
}

func badInterval(start, end *time.Time, now time.Time) string {
	for name, bound := range map[string]*time.Time{"data_interval_start": start, "data_interval_end": end} {
		if bound != nil && bound.After(now) {
			return fmt.Sprintf("The provided '%s' (%s) is in the future", name, stamp(*bound))
		}
	}
	switch {
	case start == nil || end == nil:
	case end.Before(*start):
		return "'data_interval_end' must occur after 'data_interval_start'"
	case end.Sub(*start) > 7*24*time.Hour:
		return "data interval range too big. Choose an interval of at most seven days."
	}
	return ""
}

// exported is the content of the one file that a request makes, and how many records it has. For events these are the stored
// ones of the interval; a server without any makes up 1,000. The fake writes JSON lines for every format, and compresses
// them with gzip only.
func (s *Server) exported(p *Project, q fileRequest) (content []byte, records int) {
	var lines bytes.Buffer
	for i, e := range s.ledger.full {
		named := (len(q.include) == 0 || slices.Contains(q.include, e.name)) && !slices.Contains(q.exclude, e.name)
		in := q.start == nil || q.end == nil || !e.at.Before(*q.start) && e.at.Before(*q.end)
		if s.ledger.requests[s.ledger.rows[i].request-1].Project == p.id && named && in {
			writeRow(&lines, e.uuid, e.name, e.distinctID, e.properties, e.at)
			records++
		}
	}
	at := s.now()
	if q.start != nil {
		at = *q.start
	}
	for len(s.ledger.rows) == 0 && records < defaultRecords {
		writeRow(&lines, uuid.New(), "made up", strconv.Itoa(records), nil, at)
		records++
	}
	if q.compression != "gzip" {
		return lines.Bytes(), records
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write(lines.Bytes())
	_ = w.Close()
	return zipped.Bytes(), records
}

// writeRow writes a row of the model of events, with the columns that an import reads.
func writeRow(lines *bytes.Buffer, id uuid.UUID, name, distinctID string, properties json.RawMessage, at time.Time) {
	if len(properties) == 0 {
		properties = json.RawMessage("{}")
	}
	lines.Write(append(toJSON(object{
		"uuid": id, "event": name, "distinct_id": distinctID, "properties": properties, "timestamp": stamp(at), "elements_chain": "",
	}), '\n'))
}

func (s *Server) countRows(r *request) answer {
	f, refusal := readFields(r.body)
	if refusal != nil {
		return *refusal
	}
	var model, query string
	var start, end *time.Time
	c := &checker{fields: f}
	c.require("model", "hogql_query")
	c.choice("model", &model, "hogql")
	c.text("hogql_query", &query)
	c.when("data_interval_start", &start)
	c.when("data_interval_end", &end)
	if c.problem != nil {
		return *c.problem
	}
	if !s.hogqlExports {
		return forbidden("HogQL batch exports are not enabled for this team.")
	}
	if problem := badInterval(start, end, r.now); problem != "" {
		return invalid("", "invalid_input", problem)
	}
	return reply(http.StatusOK, object{"count": or(len(s.ledger.rows), defaultRecords)})
}
