package cli

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/andybalholm/brotli"
)

// unpacked is a file system whose files *.jsonl.br are read as what they hold: nothing in such a file says that it is
// packed with brotli.
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
			err = errors.New("the brotli file is cut off or damaged: get it again")
		}
	}
	return n, err
}
