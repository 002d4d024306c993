package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/andybalholm/brotli"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/formats/parquet"
	"github.com/hogapi/hogapi/reconcile"
)

// The names of files that a batch export writes.
var (
	isParquet  = regexp.MustCompile(`\.parquet(\.(zst|gz|br|sz|lz4))?$`) // the codec is inside
	isLines    = regexp.MustCompile(`\.jsonl(\.(gz|br|zst))?$`)
	isManifest = regexp.MustCompile(`_manifest\.json$`)
)

const wantedFiles = "want files of a batch export: *.parquet, or *.jsonl, *.jsonl.gz, *.jsonl.br and *.jsonl.zst"

// found are the files of a folder or a bucket, by kind.
type found struct {
	fsys           fs.FS
	lines, parquet []string
	manifests      []string
	others         []string // that no export writes
}

// add adds a file by its name.
func (f *found) add(name string) {
	list := &f.others
	switch base := path.Base(name); {
	case isParquet.MatchString(base):
		list = &f.parquet
	case isLines.MatchString(base):
		list = &f.lines
	case isManifest.MatchString(base):
		list = &f.manifests
	}
	*list = append(*list, name)
}

// findAll finds all files of a file system.
func findAll(fsys fs.FS) (*found, error) {
	f := &found{fsys: fsys}
	return f, fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			f.add(name)
		}
		return err
	})
}

// folder opens a folder of this machine.
func (r *reconciling) folder(exports []hogapi.BatchExport, covered []*coverage.Coverage, dir string) (*place, error) {
	if info, err := os.Stat(r.to); err != nil || !info.IsDir() {
		return nil, shell.UsageError(fmt.Sprintf("--to %s: there is no such folder", r.to), "give a folder with the files of a batch export, or the URL of a database or a bucket")
	}
	files, err := findAll(os.DirFS(r.to))
	if err != nil {
		return nil, shell.UsageError(fmt.Sprintf("--to %s: %v", r.to, shell.Cause(err)), "give a folder whose files you may read")
	}
	return r.filesAt(files, exports, covered, dir)
}

// filesAt makes a place of files.
func (r *reconciling) filesAt(files *found, exports []hogapi.BatchExport, covered []*coverage.Coverage, dir string) (*place, error) {
	if len(files.lines)+len(files.parquet) == 0 {
		text := "no files of a batch export"
		if len(files.others) > 0 {
			text += ", but others, such as " + shown(files.others)
		}
		return nil, shell.UsageError(fmt.Sprintf("--to %s: %s", r.to, text), wantedFiles)
	}
	files.fsys = unpacked{files.fsys}
	var all readers
	if len(files.lines) > 0 {
		reader, err := reconcile.JSONLines(files.fsys, files.lines...)
		if err != nil {
			return nil, err
		}
		all = append(all, reader)
	}
	if len(files.parquet) > 0 {
		reader, err := parquet.Rows(files.fsys, files.parquet...)
		if err != nil {
			return nil, err
		}
		all = append(all, reader)
	}
	sorted := filepath.Join(dir, "files")
	if err := makeFolder(sorted); err != nil {
		return nil, cacheFault(err)
	}
	p := &place{}
	if len(all) > 1 {
		p.notes = append(p.notes, fmt.Sprintf("%s of JSON lines and %s of Parquet were read", plural(len(files.lines), "file"), plural(len(files.parquet), "file")))
	}
	if len(files.others) > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%s not read, since exports do not write such names: %s", plural(len(files.others), "file"), shown(files.others)))
	}
	names := append(append(files.lines, files.parquet...), files.manifests...)
	p.notes = append(p.notes, reconcile.CheckObjects(files.fsys, names, parquet.CountRows, covered...).Notes()...)
	for _, note := range p.notes {
		r.Note(note)
	}
	r.Note(plural(len(files.lines)+len(files.parquet), "file") + ": read once, and the keys sorted")
	side := reconcile.Files(all, exports[0].TeamID, sorted)
	p.side, p.end = side, func() { _ = side.Close() }
	return p, nil
}

// shown are a few names, for people.
func shown(names []string) string {
	const most = 5
	text := strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		text += ", …"
	}
	return term.Line(text)
}

// readers read files of several formats, one after the other.
type readers []reconcile.RowReader

// Name implements [reconcile.RowReader].
func (r readers) Name() string {
	var names []string
	for _, reader := range r {
		names = append(names, reader.Name())
	}
	return strings.Join(names, " and ")
}

// Rows implements [reconcile.RowReader].
func (r readers) Rows(ctx context.Context, yield func(reconcile.FileRow) error) error {
	for _, reader := range r {
		if err := reader.Rows(ctx, yield); err != nil {
			return err
		}
	}
	return nil
}

// unpacked is a file system that decompresses *.jsonl.br files: brotli has no magic number to recognize them by.
type unpacked struct{ fs.FS }

// Open implements [fs.FS].
func (u unpacked) Open(name string) (fs.File, error) {
	file, err := u.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".jsonl.br") {
		return file, err
	}
	return brotliFile{file, brotli.NewReader(file)}, nil
}

// Stat implements [fs.StatFS].
func (u unpacked) Stat(name string) (fs.FileInfo, error) { return fs.Stat(u.FS, name) }

// brotliFile can be read from its beginning only.
type brotliFile struct {
	fs.File

	text io.Reader
}

// Read implements [io.Reader].
func (f brotliFile) Read(p []byte) (int, error) {
	n, err := f.text.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		if _, ok := errors.AsType[*fs.PathError](err); !ok {
			err = errors.New("the brotli file is cut off or damaged: download it again")
		}
	}
	return n, err
}
