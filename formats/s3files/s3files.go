package s3files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// FS is a file system of the objects of a bucket below a prefix. It is safe for concurrent use. Its errors are
// [*fs.PathError]; they have no key of the account, no URL and no text of the service.
type FS struct {
	ctx    context.Context // fs.FS has no other way
	client *s3.Client
	bucket string
	prefix string // empty, or ends in a slash

	seen sync.Map // names to infos: of each object when it was first seen

	tryTime, pause time.Duration // for a range, and after the first failure
}

// New returns a file system of the objects of a bucket with keys that begin with the prefix and a slash; an
// empty prefix stands for the whole bucket. File names are the rest of the keys. When ctx ends, all requests
// end. New sends nothing.
func New(ctx context.Context, client *s3.Client, bucket, prefix string) *FS {
	if prefix = strings.TrimSuffix(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return &FS{ctx: ctx, client: client, bucket: bucket, prefix: prefix, tryTime: time.Minute, pause: time.Second / 4}
}

// ErrReplaced is the error of reading an object that was replaced after it was first seen.
var ErrReplaced = errors.New("the object was replaced or changed after it was first looked at: " +
	"bring the earlier one back and run again, or import the new one with a new checkpoint")

// Open implements [fs.FS]. Files are [io.ReaderAt] and [io.Seeker].
func (f *FS) Open(name string) (fs.File, error) {
	found, err := f.stat("open", name)
	if err != nil {
		return nil, err
	}
	if found.IsDir() {
		return &folder{fsys: f, info: found, name: name}, nil
	}
	return newFile(f, name, found), nil
}

// Stat implements [fs.StatFS]. The info has the object's size, time, and its ETag as Version.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	found, err := f.stat("stat", name)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// ReadKey reads a small object by its whole key, such as one that begins with a slash, which no file name stands for.
func (f *FS) ReadKey(key string) ([]byte, error) {
	object, err := f.client.GetObject(f.ctx, &s3.GetObjectInput{Bucket: &f.bucket, Key: &key}, quiet)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: key, Err: plain(err)}
	}
	defer object.Body.Close()
	return io.ReadAll(io.LimitReader(object.Body, maxRange))
}

func (f *FS) stat(op, name string) (*info, error) {
	failed := func(err error) (*info, error) { return nil, &fs.PathError{Op: op, Path: name, Err: err} }
	switch {
	case !fs.ValidPath(name):
		return failed(fs.ErrInvalid)
	case name == ".":
		return &info{name: ".", isDir: true}, nil
	}
	if known, ok := f.seen.Load(name); ok {
		return known.(*info), nil
	}
	head, err := f.client.HeadObject(f.ctx, &s3.HeadObjectInput{Bucket: &f.bucket, Key: aws.String(f.prefix + name)}, quiet)
	if err == nil {
		found, err := f.see(name, aws.ToInt64(head.ContentLength), aws.ToString(head.ETag), head.LastModified)
		if err != nil {
			return failed(err)
		}
		return found, nil
	}
	if err = plain(err); !errors.Is(err, fs.ErrNotExist) {
		return failed(err)
	}
	// The answer to HEAD has no text, so that the bucket may be missing, or the name is a folder.
	list, inList := f.client.ListObjectsV2(f.ctx, &s3.ListObjectsV2Input{
		Bucket: &f.bucket, Prefix: aws.String(f.prefix + name + "/"), MaxKeys: aws.Int32(1),
	}, quiet)
	if inList = plain(inList); errors.Is(inList, errNoBucket) {
		return failed(inList)
	}
	if inList == nil && len(list.Contents) > 0 {
		return &info{name: path.Base(name), isDir: true}, nil
	}
	return failed(err)
}

// see is the info of an object: the one that it had when it was first seen.
func (f *FS) see(name string, size int64, etag string, at *time.Time) (*info, error) {
	if etag == "" {
		return nil, errors.New("the service names no ETag of the object, so a replaced one could not be noticed")
	}
	found := &info{name: path.Base(name), size: size, etag: etag}
	if at != nil {
		found.at = at.UTC().Truncate(time.Second) // HEAD has no more
	}
	first, _ := f.seen.LoadOrStore(name, found)
	return first.(*info), nil
}

// quiet has the SDK log nothing about ranges, which have no checksum.
func quiet(o *s3.Options) { o.DisableLogOutputChecksumValidationSkipped = true }

// info is of an object, or of a prefix that looks like a folder. It implements [fs.FileInfo] and
// [fs.DirEntry].
type info struct {
	name  string
	size  int64
	at    time.Time
	etag  string
	isDir bool
}

func (i *info) Name() string               { return i.name }
func (i *info) Size() int64                { return i.size }
func (i *info) ModTime() time.Time         { return i.at }
func (i *info) IsDir() bool                { return i.isDir }
func (i *info) Sys() any                   { return nil }
func (i *info) Type() fs.FileMode          { return i.Mode().Type() }
func (i *info) Info() (fs.FileInfo, error) { return i, nil }

func (i *info) Mode() fs.FileMode {
	if i.isDir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// Version identifies the content: see history.FilesFS.
func (i *info) Version() string { return i.etag }

type folder struct {
	fsys    *FS
	info    *info
	name    string
	entries []fs.DirEntry // that ReadDir has not returned yet
	isRead  bool
}

func (d *folder) Stat() (fs.FileInfo, error) { return d.info, nil }

func (d *folder) Close() error { return nil }

func (d *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: errors.New("is a directory")}
}

func (d *folder) ReadDir(n int) (list []fs.DirEntry, err error) {
	if !d.isRead {
		if d.entries, err = d.fsys.ReadDir(d.name); err != nil {
			return nil, err
		}
		d.isRead = true
	}
	if n > 0 && len(d.entries) == 0 {
		return nil, io.EOF
	}
	if n <= 0 {
		n = len(d.entries)
	}
	n = min(n, len(d.entries))
	list, d.entries = d.entries[:n:n], d.entries[n:]
	return list, nil
}
