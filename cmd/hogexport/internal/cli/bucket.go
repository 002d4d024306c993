package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/formats/s3files"
	"github.com/hogapi/hogapi/reconcile"
)

// bucket opens the files below a prefix of a bucket.
func (r *reconciling) bucket(ctx context.Context, at string, exports []hogapi.BatchExport, covered []*hogapi.Coverage, dir string) (*place, error) {
	name, prefix, _ := strings.Cut(at, "/")
	if name == "" || strings.ContainsAny(name, "@:?# ") {
		return nil, shell.UsageError("--to does not name a bucket", "write it as s3://bucket/prefix; keys belong into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, another service into --s3-endpoint")
	}
	client, err := r.storage(ctx)
	if err != nil {
		return nil, err
	}
	fsys := s3files.New(ctx, client, name, prefix)
	files, err := findAll(fsys)
	var note string
	if errors.Is(err, s3files.ErrDenied) {
		note = "the bucket may not be listed: only the files were read that the runs of the exports name. Rows of other files are not seen"
		files, err = named(fsys, prefix, exports, covered)
	}
	if err != nil {
		return nil, bucketFault(ctx, err)
	}
	p, err := r.filesAt(files, exports, covered, dir)
	if err == nil && note != "" {
		r.Note(note)
		p.notes = append(p.notes, note)
	}
	return p, err
}

// named finds the files of a bucket that may not be listed. One that is not there may have another name than the runs
// say: that is no proof that its rows are missing. One that is refused is found when it is read.
func named(fsys fs.FS, prefix string, exports []hogapi.BatchExport, covered []*hogapi.Coverage) (*found, error) {
	files, seen := &found{fsys: fsys}, map[string]bool{}
	for i := range exports {
		names, err := reconcile.NamedObjects(fsys, prefix, &exports[i], covered[i])
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if seen[name] {
				continue
			}
			seen[name] = true
			if _, err := fs.Stat(fsys, name); errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%w: a run has written %s, which is not there under this name", reconcile.ErrCannotTell, term.Line(name))
			}
			files.add(name)
		}
	}
	return files, nil
}

// bucketFault explains why a bucket cannot be read.
func bucketFault(ctx context.Context, err error) error {
	cause := err
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		cause = at.Err
	}
	fault := func(code shell.Code, text, todo string) error {
		return &shell.Fault{Code: code, Text: text, Todo: todo, Err: err}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, reconcile.ErrCannotTell):
		why := strings.TrimPrefix(err.Error(), reconcile.ErrCannotTell.Error()+": ")
		return fault(shell.CodeCannot, "the bucket may not be listed, and which files it has cannot be told: "+term.Line(why), "allow s3:ListBucket on the bucket")
	case errors.Is(err, fs.ErrPermission):
		return fault(shell.CodeProject, fmt.Sprintf("the bucket cannot be read: %v", cause), "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_PROFILE and AWS_REGION")
	case errors.Is(err, fs.ErrNotExist):
		return fault(shell.CodeProject, fmt.Sprintf("the bucket cannot be read: %v", cause), "check the name of the bucket, AWS_REGION and --s3-endpoint")
	}
	return fault(shell.CodeProject, fmt.Sprintf("the bucket cannot be read: %v", cause), "check --s3-endpoint, AWS_REGION and the network, and run the same command again")
}
