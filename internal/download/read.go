package download

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/httptry"
)

// errXML is a message of the storage, which can pass: no file of an export is XML.
var errXML = passing{errors.New("the storage answered with XML instead of the file")}

func (t *transfer) read(ctx context.Context, where *url.URL) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(t.Idle, func() { cancel(httptry.ErrTimeout) })
	defer idle.Stop()

	req, err := t.request(ctx, where)
	if err != nil {
		return err
	}
	resp, err := t.Do(req)
	if err != nil || resp == nil {
		return passing{fmt.Errorf("no answer from the storage: %w", connectionError(ctx, cmp.Or(err, httptry.ErrNoAnswer)))}
	}
	if resp.Body == nil { // as from transports for tests
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	skip, end, err := t.begin(resp)
	if err != nil {
		return err
	}
	return t.take(ctx, idle, resp.Body, t.At-skip, end)
}

func (t *transfer) request(ctx context.Context, where *url.URL) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), nil)
	if err != nil {
		return nil, errNoURL
	}
	req.Header.Set("Accept-Encoding", "identity") // without it net/http would decompress .gz files
	if from := t.At; from > 0 {
		// If the writer has all bytes, not every storage answers a range after the end with the size.
		if t.Size < 0 || from == t.Size {
			from--
		}
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	return req, nil
}

// take reads a body with the file's bytes from place to end.
func (t *transfer) take(ctx context.Context, idle *time.Timer, body io.Reader, place, end int64) error {
	buffer := make([]byte, 128<<10)
	for place < end {
		idle.Reset(t.Idle)
		n, err := body.Read(buffer)
		idle.Stop()
		data := buffer[:min(int64(n), end-place)]
		if place == 0 && bytes.HasPrefix(data, []byte("<?xml")) {
			return errXML
		}
		fresh := data[min(max(t.At-place, 0), int64(len(data))):] // the missing bytes
		place += int64(len(data))
		if err := t.write(fresh); err != nil {
			return err
		}
		if place < end && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if place < end && err != nil {
			return passing{fmt.Errorf("the file was cut off: %w", connectionError(ctx, err))}
		}
	}
	idle.Reset(t.Idle)
	if n, _ := body.Read(buffer[:1]); n > 0 {
		return fmt.Errorf("%w: the storage sent more than it announced", t.Changed)
	}
	if t.At < t.Size {
		return passing{errors.New("the storage sent only a part")}
	}
	return nil
}

func (t *transfer) write(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	n, err := t.w.Write(data)
	t.At += int64(max(min(n, len(data)), 0))
	if err == nil && n != len(data) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("the writer failed: %w", err)
	}
	return nil
}

// begin checks the status and header of the storage's answer. The body has the file up to end, and
// begins with skip bytes that the writer already has.
func (t *transfer) begin(resp *http.Response) (skip, end int64, err error) {
	contentRange := resp.Header.Get("Content-Range")
	from, end, size := int64(0), resp.ContentLength, resp.ContentLength
	switch resp.StatusCode {
	case http.StatusOK: // the whole file, even if a part was requested
	case http.StatusPartialContent:
		var ok bool
		if from, end, size, ok = parseContentRange(contentRange); !ok || from > t.At {
			return 0, 0, errors.New("the storage does not say which part of the file it sends")
		}
		if resp.ContentLength >= 0 && resp.ContentLength != end-from {
			return 0, 0, passing{errors.New("the storage sends more or less than the part that it names")}
		}
	case http.StatusRequestedRangeNotSatisfiable:
		if size, ok := parseUnsatisfied(contentRange); ok && t.At > size {
			return 0, 0, t.identify(resp, size)
		}
		return 0, 0, fmt.Errorf("%w: the storage has nothing after so many bytes", t.Changed)
	default:
		return 0, 0, statusError(resp.StatusCode)
	}
	switch {
	case resp.Uncompressed:
		return 0, 0, errors.New("the HTTP client's transport decompresses answers: files must be stored as they are")
	case isEncoded(resp.Header, t.noGzip):
		return 0, 0, errors.New(
			"the storage sends the file in another encoding than it is stored in: is there a proxy in between?")
	case strings.Contains(resp.Header.Get("Content-Type"), "html"):
		return 0, 0, errors.New("an HTML page came instead of the file: is there a proxy in between?")
	case strings.Contains(resp.Header.Get("Content-Type"), "xml"):
		return 0, 0, errXML
	case size < 0:
		return 0, 0, errors.New("the storage does not send the size of the file, so nothing shows that it is complete")
	}
	return t.At - from, end, t.identify(resp, size)
}

// identify compares size and ETag with earlier tries: all bytes must come from one file.
func (t *transfer) identify(resp *http.Response, size int64) error {
	etag := resp.Header.Get("ETag")
	switch {
	case t.At == 0: // any version will do
		t.Size, t.ETag = size, etag
		return nil
	case t.Size >= 0 && t.Size != size:
		return fmt.Errorf("%w: %d bytes now, %d before", t.Changed, size, t.Size)
	case t.ETag != "" && etag != "" && etag != t.ETag:
		return fmt.Errorf("%w: the ETag differs", t.Changed)
	case t.At > size:
		return fmt.Errorf("%w: %d bytes, fewer than Offset", t.Changed, size)
	}
	t.Size, t.ETag = size, cmp.Or(t.ETag, etag)
	return nil
}
