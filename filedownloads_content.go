package hogapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/download"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// DownloadState says how much of a file a writer has. The zero value is the beginning.
type DownloadState struct {
	Offset int64  // bytes that the writer has; 0 if it must be emptied first
	Size   int64  // of the file that they belong to; 0 or less if not known
	ETag   string // of this file; "" if not known
}

// Download writes one of FileDownload.Files to w, byte for byte as it is stored, and returns its size. A file that is not
// whole is always an error. A download that is cut off resumes by itself until as many tries as RetryPolicy.MaxTries bring
// nothing; after the error, a call with the same state resumes there. Where the storage has another file by then, that
// call fails and sets Offset to 0: call again with an empty writer. A try ends when no byte has arrived for the time of
// [WithTryTimeout]; the whole has no limit, so give ctx a deadline. The signed URL of the storage gets no key, and is in
// no log and no error.
//
// GET /file_download_batch_exports/{id}/download/{part}/, scope batch_export:read. [ErrInvalid] if the file download is
// not over, has failed or has expired.
func (s *FileDownloadsService) Download(
	ctx context.Context, id, file uuid.UUID, w io.Writer, state *DownloadState, options ...CallOption,
) (size int64, err error) {
	if state == nil {
		state = new(DownloadState)
	}
	from := *state
	have := download.Progress{At: from.Offset, Size: from.Size, ETag: from.ETag}
	if refusal := cmp.Or(outgoing.If(w == nil, "w", "nil", "a writer"), have.Check()); refusal != nil {
		return 0, refused(ops.FileDownloadsDownload, refusal)
	}
	size, err = download.File(ctx, s.transfer(id, file, state, options), w, have)
	if err == nil {
		state.Offset, state.Size = size, size
	}
	return size, err
}

var errFileChanged = errors.New("hogapi: the file has changed since its download began")

// transfer returns the request for one file, and the error and the state if it does not arrive whole.
func (s *FileDownloadsService) transfer(id, file uuid.UUID, state *DownloadState, options []CallOption) download.Config {
	c := s.client.core
	return download.Config{
		Locate: func(ctx context.Context) (*url.URL, error) {
			var location string
			r := endpointByID(ops.FileDownloadsDownload, id, file)
			r.location = &location
			if err := s.client.call(ctx, r, nil, options...); err != nil {
				return nil, err
			}
			return download.Location(location, c.api.Scheme)
		},
		Do: c.clients.Base().RoundTrip,
		Failed: func(have download.Progress, err error) error {
			if _, isInput := errors.AsType[*InputError](err); isInput {
				return err
			}
			*state = DownloadState{Offset: have.At, Size: have.Size, ETag: have.ETag}
			next := fmt.Sprintf("the writer has %d bytes: resume with the same state", have.At)
			if have.Size >= 0 {
				next = fmt.Sprintf("the writer has %d of %d bytes: resume with the same state", have.At, have.Size)
			}
			if errors.Is(err, errFileChanged) {
				*state, next = DownloadState{}, "start again with an empty writer"
			}
			const op = ops.FileDownloadsDownload
			return errtext.Errorf("%s: file %s: %v; %s [%d tries]", op, file, errtext.WithoutOp(op, err), next, have.Tries)
		},
		Changed: errFileChanged, Retry: c.retry, Idle: c.clients.TryAPI,
	}
}

// FolderOptions control the names and the size of the files of a file download.
type FolderOptions struct {
	// Extension is the end of each name, such as [FileOptions.Extension] returns. It cannot end in .part,
	// .part.size, .tmp or .lock. The default is no extension.
	Extension string

	// MaxBytes is the largest number of bytes that one call writes, or -1 for no limit. After that the call
	// returns an error, and another call continues with the next file. The default is 256 GiB.
	MaxBytes int64
}

// DownloadAll downloads all files of a completed file download into a folder, and returns their paths in the order of
// FileDownload.Files. Each is named by its id and FolderOptions.Extension, with ".part" at the end until it is whole and
// synced. After an error or a crash call it again: whole files stay, a ".part" begins again. On the disk, 256 MiB or a
// twentieth stay free. Only one call at a time uses a folder; another gets [ErrHeld]. Since the service lists files late,
// DownloadAll counts their rows and looks again until they are RecordsCompleted, for up to 2 minutes; of JSON lines packed
// with brotli it can only see that the list stays the same and its numbers have no hole.
func (s *FileDownloadsService) DownloadAll(
	ctx context.Context, id uuid.UUID, folder string, o *FolderOptions, options ...CallOption,
) ([]string, error) {
	extension, most := outgoing.OrDefault(o).Extension, cmp.Or(outgoing.OrDefault(o).MaxBytes, 256<<30)
	if refusal := cmp.Or(
		download.CheckNames(folder, extension),
		outgoing.If(most < -1, "FolderOptions.MaxBytes", strconv.FormatInt(most, 10), "a number of bytes, 0 for the default or -1 for no limit"),
	); refusal != nil {
		return nil, refused(ops.FileDownloadsDownload, refusal)
	}
	state, err := s.Get(ctx, id, options...)
	if err != nil {
		return nil, err
	}
	if state.Status.goesOn() {
		return nil, errtext.Errorf("file download %s is still %s: wait until it is over", id, state.Status)
	}
	if err := state.judge(); err != nil {
		return nil, err
	}
	pace, err := (*WatchOptions)(nil).withDefaults(ops.FileDownloadsGet)
	if err != nil {
		return nil, err
	}
	paths, _, err := download.Folder{FS: durable.OS{}, Path: folder, Owner: id.String(), MaxBytes: most}.Gather(ctx, download.Gathering{
		List: func(ctx context.Context) (download.Listing, error) {
			state, err := s.Get(ctx, id, options...)
			return outgoing.OrDefault(state).listing(), err
		},
		Items: func(files []uuid.UUID) (items []download.Item, err error) {
			for _, file := range files {
				items = append(items, download.Item{Name: file.String() + extension, Config: s.transfer(id, file, new(DownloadState), options)})
			}
			return items, nil
		},
		Every: pace.Interval, Patience: pace.Settle,
	}, state.listing())
	return paths, heldError(err)
}

// heldError adds ErrHeld to the error of a folder that another call holds.
func heldError(err error) error {
	if errors.Is(err, durable.ErrLocked) {
		return fmt.Errorf("%w: %w", ErrHeld, err)
	}
	return err
}
