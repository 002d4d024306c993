package hogapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/watch"
	"github.com/hogapi/hogapi/ops"
)

// ErrFileChanged is a file that is not, or no longer, the one that the writer has a part of.
var ErrFileChanged = errors.New("hogapi: the file has changed since its download began")

// DownloadOptions say where a download begins: take them from the [*DownloadError] of the earlier
// call.
type DownloadOptions struct {
	// Offset is how many bytes of the file the writer has already.
	Offset int64

	// Size and ETag say which file these bytes are of. If the storage has another one, the error
	// is ErrFileChanged. Without them that is not noticed. With Offset 0 they are not used.
	Size int64  // 0 or less if it is not known
	ETag string // "" if it is not known
}

// DownloadError is a file that was not downloaded whole. The writer has the first Offset bytes of
// it: to resume, call Download again with the Offset, Size and ETag of the error. If it is
// [ErrFileChanged], start again at Offset 0, in an empty writer.
type DownloadError struct {
	File   uuid.UUID
	Offset int64  // bytes that the writer has, those of earlier calls included
	Size   int64  // of the file; -1 if it is not known
	ETag   string // of the file; "" if it is not known
	Tries  int    // requests for the file
	Err    error  // the cause, without URLs
}

func (e *DownloadError) Error() string {
	size := "an unknown number of"
	if e.Size >= 0 {
		size = strconv.FormatInt(e.Size, 10)
	}
	next := fmt.Sprintf("the writer has %d of %s bytes: resume at that Offset", e.Offset, size)
	if errors.Is(e.Err, ErrFileChanged) {
		next = "start again at Offset 0, in an empty writer"
	}
	return fmt.Sprintf("hogapi: %s: file %s: %s; %s", ops.FileDownloadsDownload, e.File, within(ops.FileDownloadsDownload, e.Err), next)
}

// Unwrap returns the cause.
func (e *DownloadError) Unwrap() error { return e.Err }

// Download writes one file of a completed file download to w, byte for byte as it is stored, and
// returns its size. The file is an id of FileDownload.Files. A download that is cut off resumes
// where it was; if nothing more arrives in as many tries as RetryPolicy.MaxTries, the error is a
// [*DownloadError] that says where to resume. An attempt ends when no byte has arrived for the time
// of [WithTryTimeout]; there is no limit for the whole: give ctx a deadline. A file that is not
// whole is always an error. A storage may mark what it sends as gzip: it is written as it comes, so a
// file of another compression has then been packed on its way.
//
// The service answers with a signed URL of its storage, which anybody may read from for a while.
// It is used once, without the client's keys and headers, and neither logged nor put into errors.
//
// GET /file_download_batch_exports/{id}/download/{part}/, scope batch_export:read. [ErrInvalid] if
// the file download is not over, has failed or has expired.
func (s *FileDownloadsService) Download(
	ctx context.Context, id, file uuid.UUID, w io.Writer, o *DownloadOptions, options ...CallOption,
) (size int64, err error) {
	bad := func(field, value, want string) error {
		return &InputError{Op: ops.FileDownloadsDownload, Field: field, Value: value, Want: want}
	}
	from := orDefault(o)
	switch {
	case w == nil:
		return 0, bad("w", "nil", "a writer")
	case from.Offset < 0:
		return 0, bad("Offset", strconv.FormatInt(from.Offset, 10), "0 or more")
	case from.Size > 0 && from.Size < from.Offset:
		return 0, bad("Size", strconv.FormatInt(from.Size, 10), "not less than Offset")
	}
	t := s.transfer(id, file, w, from, options)
	if err := t.run(ctx); err != nil {
		return 0, err
	}
	return t.size, nil
}

func (s *FileDownloadsService) transfer(id, file uuid.UUID, w io.Writer, from DownloadOptions, options []CallOption) *transfer {
	t := &transfer{
		client: s.client, request: endpointByID(ops.FileDownloadsDownload, id, file), options: options,
		file: file, w: w, at: from.Offset, size: -1,
	}
	if from.Offset > 0 {
		t.etag = from.ETag
		if from.Size > 0 {
			t.size = from.Size
		}
	}
	return t
}

// transfer is one file on its way, over all tries.
type transfer struct {
	client  *Client
	request request
	options []CallOption
	file    uuid.UUID
	w       io.Writer

	at, size int64  // written; -1 until it is known
	etag     string // of the first attempt whose storage gave one
	tries    int
	noGzip   bool // the file is not stored as gzip
}

// passing is an error that another attempt, with a URL of its own, may not meet.
type passing struct{ error }

func (p passing) Unwrap() error { return p.error }

// run is an [*InputError], or a [*DownloadError] unless the file is whole.
func (t *transfer) run(ctx context.Context) error {
	err := t.try(ctx)
	if _, isInput := errors.AsType[*InputError](err); isInput || err == nil {
		return err
	}
	return &DownloadError{File: t.file, Offset: t.at, Size: t.size, ETag: t.etag, Tries: t.tries, Err: err}
}

// try repeats it until the file is whole, or none can help.
func (t *transfer) try(ctx context.Context) error {
	for failures := 0; ; {
		before := t.at
		err := t.attempt(ctx)
		if err == nil {
			return nil
		}
		if ctx != nil && ctx.Err() != nil {
			return t.ended(ctx, err)
		}
		if t.at > before {
			failures = 0
		}
		failures++
		again, ok := errors.AsType[passing](err)
		if !ok {
			return err
		}
		policy := t.client.core.retry
		if failures >= policy.MaxTries {
			return again.error
		}
		if !watch.Sleep(ctx, httptry.Jitter(policy.BaseDelay, policy.MaxDelay, failures, httptry.Random())) {
			return t.ended(ctx, again.error)
		}
	}
}

// ended is the error of a download whose context has ended.
func (t *transfer) ended(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w (the call was ended: %w)", err, httptry.ContextError(ctx))
}

// attempt asks for a URL and reads from it what is missing.
func (t *transfer) attempt(ctx context.Context) error {
	var location string
	r := t.request
	r.location = &location
	if err := t.client.call(ctx, r, nil, t.options...); err != nil {
		return err
	}
	where, err := t.client.storageURL(location)
	if err != nil {
		return err
	}
	t.tries++
	return t.read(ctx, where)
}

// storageURL is the signed URL that the service has answered with.
func (c *Client) storageURL(location string) (*url.URL, error) {
	u, err := url.Parse(location)
	switch {
	case location == "":
		return nil, errors.New("the answer does not lead to a file; is the base URL the service's?")
	case err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the answer leads to something that is not a URL of a file")
	case u.Scheme == "http" && c.core.api.Scheme == "https":
		return nil, errors.New("refused: the answer leads from https to a URL that is not encrypted")
	}
	return u, nil
}

// read makes one request to the storage. It uses the transport as it is: no redirects, no cookies,
// no key, no header but these two.
func (t *transfer) read(ctx context.Context, where *url.URL) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := t.client.core.timeouts.API
	idle := time.AfterFunc(limit, func() { cancel(httptry.ErrTimeout) })
	defer idle.Stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), nil)
	if err != nil {
		return errors.New("the answer leads to something that is not a URL of a file")
	}
	req.Header.Set("Accept-Encoding", "identity") // without it net/http would decompress .gz files
	if from := t.at; from > 0 {
		if t.size < 0 || from == t.size { // w may have it all, and not every storage answers a range after the end with the size
			from--
		}
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	resp, err := t.client.core.clients.Base().RoundTrip(req)
	if err != nil || resp == nil {
		return passing{fmt.Errorf("no answer from the storage: %w", storageError(ctx, cmp.Or(err, httptry.ErrNoAnswer)))}
	}
	if resp.Body == nil { // as transports for tests leave it
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	skip, end, err := t.begin(resp)
	if err != nil {
		return err
	}
	buffer := make([]byte, 128<<10)
	for place := t.at - skip; place < end; {
		idle.Reset(limit)
		n, err := resp.Body.Read(buffer)
		idle.Stop()
		data := buffer[:min(int64(n), end-place)]
		fresh := data[min(max(t.at-place, 0), int64(len(data))):] // what w has not
		place += int64(len(data))
		if err := t.write(fresh); err != nil {
			return err
		}
		if place < end && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if place < end && err != nil {
			return passing{fmt.Errorf("the file was cut off: %w", storageError(ctx, err))}
		}
	}
	idle.Reset(limit)
	if n, _ := resp.Body.Read(buffer[:1]); n > 0 {
		return fmt.Errorf("%w: the storage sent more than it announced", ErrFileChanged)
	}
	if t.at < t.size {
		return passing{errors.New("the storage sent a part only")}
	}
	return nil
}

func (t *transfer) write(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	n, err := t.w.Write(data)
	t.at += int64(max(min(n, len(data)), 0))
	if err == nil && n != len(data) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("the writer failed: %w", err)
	}
	return nil
}

// begin checks the head of the storage's answer. The body holds the file up to end, and begins with
// skip bytes that the writer has already.
func (t *transfer) begin(resp *http.Response) (skip, end int64, err error) {
	contentRange := resp.Header.Get("Content-Range")
	from, end, size := int64(0), resp.ContentLength, resp.ContentLength
	switch resp.StatusCode {
	case http.StatusOK: // the whole file, also where a part was asked for
	case http.StatusPartialContent:
		var ok bool
		if from, end, size, ok = parseContentRange(contentRange); !ok || from > t.at {
			return 0, 0, errors.New("the storage does not say which part of the file it sends")
		}
		if resp.ContentLength >= 0 && resp.ContentLength != end-from {
			return 0, 0, passing{errors.New("the storage sends more or less than the part that it names")}
		}
	case http.StatusRequestedRangeNotSatisfiable:
		if size, ok := parseUnsatisfied(contentRange); ok && t.at > size {
			return 0, 0, t.identify(resp, size)
		}
		return 0, 0, fmt.Errorf("%w: the storage has nothing after so many bytes", ErrFileChanged)
	default:
		return 0, 0, storageStatus(resp.StatusCode)
	}
	switch {
	case resp.Uncompressed:
		return 0, 0, errors.New("the HTTP client's transport decompresses answers: files must be stored as they are")
	case isEncoded(resp.Header, t.noGzip):
		return 0, 0, errors.New("the storage sends the file in another encoding than it is stored in: is there a proxy in between?")
	case strings.Contains(resp.Header.Get("Content-Type"), "html"):
		return 0, 0, errors.New("a page for people came where the file should be: is there a proxy in between?")
	case size < 0:
		return 0, 0, errors.New("the storage does not say how large the file is, so it is not known whether it is whole")
	}
	return t.at - from, end, t.identify(resp, size)
}

// isEncoded reports a body that is not the bytes of the file themselves. A file that is stored as gzip
// may be marked as such; its bytes are still those of the file.
func isEncoded(h http.Header, noGzip bool) bool {
	values := h.Values("Content-Encoding")
	if len(values) == 1 && strings.EqualFold(values[0], "gzip") {
		return noGzip
	}
	return slices.ContainsFunc(values, func(encoding string) bool {
		return encoding != "" && !strings.EqualFold(encoding, "identity")
	})
}

// identify compares size and ETag with those of earlier tries: all bytes must be of one file.
func (t *transfer) identify(resp *http.Response, size int64) error {
	etag := resp.Header.Get("ETag")
	switch {
	case t.at == 0: // whatever it was before
		t.size, t.etag = size, etag
		return nil
	case t.size >= 0 && t.size != size:
		return fmt.Errorf("%w: it has %d bytes and had %d", ErrFileChanged, size, t.size)
	case t.etag != "" && etag != "" && etag != t.etag:
		return fmt.Errorf("%w: its ETag is another one", ErrFileChanged)
	case t.at > size:
		return fmt.Errorf("%w: it is shorter than Offset, it has %d bytes", ErrFileChanged, size)
	}
	t.size, t.etag = size, cmp.Or(t.etag, etag)
	return nil
}

// storageStatus is the error of a storage that sends no file. A signature that has expired is a 403.
func storageStatus(status int) error {
	err := fmt.Errorf("the storage answered %d %s", status, http.StatusText(status))
	if httptry.IsTransientStatus(status) || status == http.StatusForbidden {
		return passing{err}
	}
	return err
}

// parseContentRange reads "bytes 5-9/10" as the part from 5 up to 10 of 10 bytes.
func parseContentRange(text string) (from, end, size int64, ok bool) {
	text, hasUnit := strings.CutPrefix(text, "bytes ")
	part, total, hasTotal := strings.Cut(text, "/")
	first, last, hasLast := strings.Cut(part, "-")
	from, ok1 := parseCount(first)
	end, ok2 := parseCount(last)
	size, ok3 := parseCount(total)
	ok = hasUnit && hasTotal && hasLast && ok1 && ok2 && ok3 && from <= end && end < size
	return from, end + 1, size, ok
}

// parseUnsatisfied reads "bytes */10".
func parseUnsatisfied(text string) (size int64, ok bool) {
	total, ok := strings.CutPrefix(text, "bytes */")
	if !ok {
		return 0, false
	}
	return parseCount(total)
}

func parseCount(text string) (int64, bool) {
	n, err := strconv.ParseUint(text, 10, 62)
	return int64(n), err == nil
}
