package s3files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Glob implements [fs.GlobFS]. It returns the names of the objects that match a pattern of [path.Match], and of
// the prefixes that look like folders. It lists the keys that begin with the text before the first special
// character. A failed request is an error.
func (f *FS) Glob(pattern string) (names []string, err error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, err
	}
	lead := pattern
	if special := strings.IndexAny(pattern, `*?[\`); special >= 0 {
		lead = pattern[:special]
	}
	isDeep := strings.Contains(pattern[len(lead):], "/")
	found := map[string]bool{}
	err = f.list(lead, isDeep, func(name string, object *s3Object) error {
		name, isFolder := cutTo(name, strings.Count(pattern, "/")+1)
		if isMatch, err := path.Match(pattern, name); err != nil || !isMatch {
			return err
		}
		if !isFolder && object != nil && object.isMark(name) {
			return nil
		}
		found[name] = true
		if isFolder || object == nil {
			return check(name)
		}
		_, err := f.seeListed(name, object)
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "glob", Path: pattern, Err: err}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// cutTo is the first n elements of a name, and whether there are more.
func cutTo(name string, n int) (first string, more bool) {
	parts := strings.SplitN(name, "/", n+1)
	return strings.Join(parts[:min(n, len(parts))], "/"), len(parts) > n
}

// ReadDir implements [fs.ReadDirFS].
func (f *FS) ReadDir(name string) (entries []fs.DirEntry, err error) {
	failed := func(err error) ([]fs.DirEntry, error) { return nil, &fs.PathError{Op: "readdir", Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return failed(fs.ErrInvalid)
	}
	lead := name + "/"
	if name == "." {
		lead = ""
	}
	isThere := name == "."
	err = f.list(lead, false, func(name string, object *s3Object) error {
		isThere = true
		switch {
		case object == nil:
			name = strings.TrimSuffix(name, "/")
			entries = append(entries, &info{name: path.Base(name), isDir: true})
			return check(name)
		case object.isMark(name):
			return nil
		}
		found, err := f.seeListed(name, object)
		entries = append(entries, found)
		return err
	})
	if err == nil && !isThere {
		err = fs.ErrNotExist
	}
	if err != nil {
		return failed(err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

type s3Object struct {
	size int64
	etag string
	at   *time.Time
}

// isMark reports an object that only marks a folder, as consoles make them.
func (o *s3Object) isMark(name string) bool {
	return o.size == 0 && (name == "" || strings.HasSuffix(name, "/"))
}

func (f *FS) seeListed(name string, o *s3Object) (*info, error) {
	if err := check(name); err != nil {
		return nil, err
	}
	return f.see(name, o.size, o.etag, o.at)
}

// check refuses a name that no file can have.
func check(name string) error {
	if !fs.ValidPath(name) {
		return fmt.Errorf("the key %q has an empty element, \".\" or \"..\" and cannot be the name of a file: copy it to another key", name)
	}
	return nil
}

// list gives the names that begin so. Without isDeep, all keys below a slash are given once, as a
// nil object and a name that ends in that slash.
func (f *FS) list(lead string, isDeep bool, use func(name string, object *s3Object) error) error {
	in := &s3.ListObjectsV2Input{Bucket: &f.bucket, Prefix: aws.String(f.prefix + lead)}
	if !isDeep {
		in.Delimiter = aws.String("/")
	}
	for {
		page, err := f.client.ListObjectsV2(f.ctx, in, quiet)
		if err != nil {
			return plain(err)
		}
		for _, o := range page.Contents {
			name, isBelow := strings.CutPrefix(aws.ToString(o.Key), f.prefix)
			if !isBelow {
				return errors.New("the service listed a key that was not asked for")
			}
			if err := use(name, &s3Object{aws.ToInt64(o.Size), aws.ToString(o.ETag), o.LastModified}); err != nil {
				return err
			}
		}
		for _, p := range page.CommonPrefixes {
			if err := use(strings.TrimPrefix(aws.ToString(p.Prefix), f.prefix), nil); err != nil {
				return err
			}
		}
		if !aws.ToBool(page.IsTruncated) {
			return nil
		}
		next := aws.ToString(page.NextContinuationToken)
		if next == "" || next == aws.ToString(in.ContinuationToken) {
			return errors.New("the service says that there are more keys, and not where")
		}
		in.ContinuationToken = &next
	}
}
