package lines

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
)

// Content identifies a file without reading all of it.
type Content struct {
	Name string `json:"name"`
	Size int64  `json:"size"`           // 0 if the file cannot be read twice
	Ends string `json:"ends,omitempty"` // digest of its stored beginning and end
}

// Contents returns the contents of all files, in order.
func (s *Files) Contents() ([]Content, error) {
	contents := make([]Content, len(s.paths))
	for i, path := range s.paths {
		content, err := contentOf(s.fsys, path)
		if err != nil {
			return nil, err
		}
		content.Name = s.names[i]
		contents[i] = content
	}
	return contents, nil
}

func contentOf(fsys fs.FS, path string) (c Content, err error) {
	info, err := fs.Stat(fsys, path)
	if err != nil || !info.Mode().IsRegular() {
		return c, err
	}
	file, err := fsys.Open(path)
	if err != nil {
		return c, err
	}
	defer func() { _ = file.Close() }() // only read
	c.Size = info.Size()
	digest := sha256.New()
	if _, err := io.Copy(digest, io.LimitReader(file, mostOfHead)); err != nil {
		return c, err
	}
	if at, ok := file.(io.ReaderAt); ok {
		if _, err := io.Copy(digest, io.NewSectionReader(at, max(c.Size-mostOfTail, 0), mostOfTail)); err != nil {
			return c, err
		}
	}
	c.Ends = hex.EncodeToString(digest.Sum(nil)[:16])
	return c, nil
}
