package hogapitest

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
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
}

// fileDownload is one as the server keeps it. A live one moves a step each time that it is shown by itself.
type fileDownload struct {
	FileDownload

	outcome Outcome
	step    int
	logs    []LogEntry
}

func (d *fileDownload) live() bool { return isLive(d.Status) }

// AddFileDownload adds a file download. If its status is Starting or Running, each read moves it on, to the
// outcome that [Project.NextRuns] has set.
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
	d := &fileDownload{FileDownload: x}
	if d.live() {
		d.outcome = p.nextOutcome(x.Records)
	}
	p.downloads = append(p.downloads, d)
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
	return success(o)
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
	compression      string
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
	var content []byte
	if content, x.Records = s.exported(r.project, q); x.Records > 0 {
		x.Files = []File{{ID: uuid.New(), Content: content}}
	}
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
	var format string
	choice(file, "format", &format, "Parquet", "JSONLines")
	if !isNull(file.fields["compression"]) {
		choice(file, "compression", &q.compression, "zstd", "gzip", "brotli", "lz4", "snappy")
	}
	var size *int
	file.smallInt("max_size_mb", &size, 0, 1<<31-1)
	switch isQuery := q.model == "hogql"; {
	case !isQuery && (q.start.IsZero() || q.end.IsZero()):
		c.fail("", "invalid_input", "'data_interval_start' and 'data_interval_end' are required. Provide both bounds.")
	case isQuery && !s.hogqlExports:
		refuse(forbidden("HogQL batch exports are not enabled for this team."))
	case isQuery == absent(c.fields["hogql_query"]):
		c.fail("hogql_query", "invalid_input", "'hogql_query' is required when 'model' is 'hogql', and only supported then")
	}
	c.checkInterval(q.start, q.end, now)
	return q
}

func (c checker) checkInterval(start, end, now time.Time) {
	for name, bound := range map[string]time.Time{"data_interval_start": start, "data_interval_end": end} {
		if bound.After(now) {
			c.fail("", "invalid_input", fmt.Sprintf("The provided '%s' (%s) is in the future", name, stamp(bound)))
		}
	}
	switch {
	case start.IsZero() || end.IsZero():
	case end.Before(start):
		c.fail("", "invalid_input", "'data_interval_end' must occur after 'data_interval_start'")
	case end.Sub(start) > 7*24*time.Hour:
		c.fail("", "invalid_input", "data interval range too big. Choose an interval of at most seven days.")
	}
}

// exported is the content of the one file that a request makes, and how many records it has. After [Project.ExportEvents]
// these are the events that arrived in the interval. Otherwise they are the events that capture has stored with a timestamp in
// it; a server without any makes up 1,000. The fake writes JSON lines for every format, and compresses
// them with gzip only.
func (s *Server) exported(p *Project, q fileRequest) (content []byte, records int) {
	var lines bytes.Buffer
	if p.exportsEvents && q.model == "events" {
		t, isOld := &s.table, q.start.Before(s.now().AddDate(0, 0, -recentDays[s.era]))
		for _, i := range p.rows(span{q.start, q.end}, false, q.include, q.exclude) {
			r := &t.rows[i]
			if isOld && (r.at.Before(q.start.AddDate(0, 0, -7)) || !r.at.Before(q.end.AddDate(0, 0, 1))) {
				continue
			}
			writeRow(&lines, r.id, t.texts[r.name], t.texts[r.who], r.properties, r.at)
			records++
		}
		return packed(lines.Bytes(), q.compression), records
	}
	for i, e := range s.ledger.full {
		named := (len(q.include) == 0 || slices.Contains(q.include, e.name)) && !slices.Contains(q.exclude, e.name)
		in := q.start.IsZero() || q.end.IsZero() || !e.at.Before(q.start) && e.at.Before(q.end)
		if s.ledger.requests[s.ledger.rows[i].request-1].Project == p.id && named && in {
			writeRow(&lines, e.uuid, e.name, e.distinctID, e.properties, e.at)
			records++
		}
	}
	at := or(q.start, s.now())
	for len(s.ledger.rows) == 0 && records < defaultRecords {
		writeRow(&lines, uuid.New(), "made up", strconv.Itoa(records), nil, at)
		records++
	}
	return packed(lines.Bytes(), q.compression), records
}

// packed is a content in a compression.
func packed(content []byte, compression string) []byte {
	if compression != "gzip" {
		return content
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write(content)
	_ = w.Close()
	return zipped.Bytes()
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
	var model, query string
	var start, end time.Time
	c := readFields(r.body)
	c.require("model", "hogql_query")
	choice(c, "model", &model, "hogql")
	c.text("hogql_query", &query)
	c.when("data_interval_start", &start)
	c.when("data_interval_end", &end)
	if !s.hogqlExports {
		return forbidden("HogQL batch exports are not enabled for this team.")
	}
	c.checkInterval(start, end, r.now)
	return success(object{"count": or(len(s.ledger.rows), defaultRecords)})
}

// OpStorage is the operation of the requests for files, to which the service redirects. It is for
// [Server.Calls] and [Server.Script]; no method of package hogapi has this operation alone.
const OpStorage hogapi.Op = "storage.get"

const (
	storageOrigin  = "https://storage.hogapitest.example"
	signatureLife  = time.Hour
	storageSegment = "hogapitest-storage"
)

// signed is the answer of a signed URL.
type signed struct {
	content []byte
	etag    string
	until   time.Time
}

// downloadFile redirects to a signed URL.
func (s *Server) downloadFile(r *request) answer {
	d := r.fileDownload()
	switch {
	case d.live():
		return invalid("", "invalid_input", "Batch export run is still in progress")
	case d.Status == "Cancelled":
		return invalid("", "invalid_input", "Batch export run was cancelled")
	case d.Status != "Completed":
		return invalid("", "invalid_input", "Batch export run has failed")
	}
	part := r.params["part"]
	index := slices.IndexFunc(d.Files, func(f File) bool { return f.ID.String() == strings.ToLower(part) })
	if n, err := strconv.Atoi(or(part, "0")); err == nil && n >= 0 {
		if index = n; n >= len(d.Files) {
			return notFound(fmt.Sprintf("No files with index %d", n))
		}
	}
	if index < 0 {
		return invalid("", "invalid_input", fmt.Sprintf("Invalid file id or index: '%s'", part))
	}
	f := d.Files[index]
	token := rand.Text()
	s.signatures[token] = signed{f.Content, `"` + f.ID.String() + `"`, r.now.Add(signatureLife)}
	u := url.URL{Scheme: r.url.Scheme, Host: r.url.Host, Path: "/" + storageSegment + "/" + f.ID.String()}
	u.RawQuery = url.Values{"X-Amz-Signature": {token}}.Encode()
	location := u.String()
	if origin := r.url.Scheme + "://" + r.url.Host; origin == apiOrigin {
		location = storageOrigin + strings.TrimPrefix(location, apiOrigin)
	}
	return answer{http.StatusFound, http.Header{"Location": {location}, "Cache-Control": {"no-store"}}, nil}
}

// serveFile is the storage. It refuses an Authorization header besides the signature, as S3 does.
func (s *Server) serveFile(r *request) answer {
	s.mu.Lock()
	f, ok := s.signatures[r.query.Get("X-Amz-Signature")]
	s.mu.Unlock()
	switch {
	case r.header.Get("Authorization") != "":
		return storageError(http.StatusBadRequest, "InvalidArgument", "Only one auth mechanism allowed")
	case !ok || !s.now().Before(f.until):
		return storageError(http.StatusForbidden, "AccessDenied", "Request has expired")
	}
	size := len(f.content)
	a := answer{http.StatusOK, http.Header{"Content-Type": {"binary/octet-stream"}, "ETag": {f.etag}, "Accept-Ranges": {"bytes"}}, f.content}
	from, ranged := strings.CutPrefix(r.header.Get("Range"), "bytes=")
	if !ranged {
		return a
	}
	n, err := strconv.Atoi(strings.TrimSuffix(from, "-"))
	if err != nil || n < 0 || n >= size {
		a = storageError(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range is not satisfiable")
		a.header.Set("Content-Range", fmt.Sprintf("bytes */%d", size))
		return a
	}
	a.status, a.body = http.StatusPartialContent, f.content[n:]
	a.header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", n, size-1, size))
	return a
}

func storageError(status int, code, message string) answer {
	body := fmt.Sprintf("<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
	return answer{status, http.Header{"Content-Type": {"application/xml"}}, []byte(body)}
}
