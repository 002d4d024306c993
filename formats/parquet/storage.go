package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// storage is an open file of a file system, with random access. It keeps the error that the file system ended a read
// with, so that a storage that does not answer is not taken for a damaged file.
type storage struct {
	file   fs.File
	at     io.ReaderAt
	size   int64
	failed error
}

func openStorage(fsys fs.FS, path string) (*storage, error) {
	file, err := fsys.Open(path)
	if err != nil {
		return nil, bare(err)
	}
	s := &storage{file: file}
	info, err := file.Stat()
	if err == nil {
		s.size = info.Size()
		s.at, _ = file.(io.ReaderAt)
	}
	switch {
	case err != nil:
		err = bare(err)
	case info.IsDir():
		err = errors.New("a folder, not a file: name its files")
	case s.at == nil || !info.Mode().IsRegular():
		err = errors.New("the file can only be read from its beginning, and Parquet needs random access: copy it to a disk")
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *storage) close() { _ = s.file.Close() }

// ReadAt implements [io.ReaderAt].
func (s *storage) ReadAt(p []byte, offset int64) (int, error) {
	n, err := s.at.ReadAt(p, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = bare(err)
		return n, s.failed
	}
	return n, err
}

// footer reads the description of the columns and row groups at the end of the file. It first reads a little more than
// a footer usually has, which costs a bucket one request.
func (s *storage) footer() ([]byte, error) {
	const tail, guess, most = 8, 16 << 10, 256 << 20
	if s.size < 2*tail {
		return nil, fmt.Errorf("not a Parquet file, with only %d bytes", s.size)
	}
	end := make([]byte, min(guess, s.size))
	if _, err := s.ReadAt(end, s.size-int64(len(end))); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	mark := end[len(end)-tail:]
	length := int64(binary.LittleEndian.Uint32(mark))
	if string(mark[4:]) != "PAR1" || length > s.size-tail || length > most {
		return nil, errors.New("the Parquet footer is missing: another kind of file, or cut off")
	}
	end = end[:len(end)-tail]
	if length <= int64(len(end)) {
		return end[int64(len(end))-length:], nil
	}
	all := make([]byte, length)
	_, err := s.ReadAt(all, s.size-tail-length)
	return all, err
}

// bare is an error of the file system without its path, which is named by the caller.
func bare(err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return of.Err
	}
	return err
}
