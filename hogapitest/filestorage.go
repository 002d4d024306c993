package hogapitest

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
)

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
	names   string // Content-Disposition
	until   time.Time
}

// file is the listed file with the id or the number of a request; without either, the first one.
func (d *fileDownload) file(r *request) *File {
	files, part := d.visible(r.now), r.params["part"]
	if id, err := uuid.Parse(part); err == nil {
		for i := range files {
			if files[i].ID == id {
				return &files[i]
			}
		}
		refuse(notFound("No BatchExportFileDownload matches the given query."))
	}
	n, err := strconv.Atoi(or(part, "0"))
	if err != nil {
		refuse(invalid("", "invalid_input", fmt.Sprintf("Invalid file id or index: '%s'", part)))
	}
	if n < 0 || n >= len(files) {
		refuse(notFound(fmt.Sprintf("No files with index %d", n)))
	}
	return &files[n]
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
	f := d.file(r)
	token, disposition := rand.Text(), fmt.Sprintf("attachment; filename=%q", f.name)
	s.signatures[token] = signed{f.Content, `"` + f.ID.String() + `"`, disposition, r.now.Add(signatureLife)}
	u := url.URL{Scheme: r.url.Scheme, Host: r.url.Host, Path: "/" + storageSegment + "/" + f.ID.String()}
	u.RawQuery = url.Values{"X-Amz-Signature": {token}, "response-content-disposition": {disposition}}.Encode()
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
	a := answer{http.StatusOK, http.Header{"Content-Type": {"binary/octet-stream"}, "ETag": {f.etag}, "Content-Disposition": {f.names}, "Accept-Ranges": {"bytes"}}, f.content}
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
