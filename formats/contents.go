package formats

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/ops"
)

// contents are the files of a source, as they are.
type contents []lines.Content

// contentsOf looks at the files that a source reads, and the sources that it wraps.
func contentsOf(source hogapi.Source) (all contents, err error) {
	switch s := source.(type) {
	case interface {
		Contents() ([]lines.Content, error)
	}:
		return s.Contents()
	case interface{ Unwrap() hogapi.Source }:
		return contentsOf(s.Unwrap())
	case interface{ Unwrap() []hogapi.Source }:
		for _, inner := range s.Unwrap() {
			more, err := contentsOf(inner)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
	}
	return all, nil
}

// digest is short, and differs where the contents do.
func digestOf(contents []byte) string {
	sum := sha256.Sum256(contents)
	return hex.EncodeToString(sum[:6])
}

// check refuses a folder that is made of something else.
func (c contents) check(dir string, of json.RawMessage) error {
	var was contents
	if err := json.Unmarshal(of, &was); err != nil {
		return err
	}
	if slices.Equal(c, was) {
		return nil
	}
	name := fmt.Sprintf("%d files", len(c))
	if len(c) == len(was) {
		for i := range c {
			if c[i] != was[i] {
				name = c[i].Name
				break
			}
		}
	}
	return &hogapi.InputError{Op: ops.Import, Field: "the files of formats.Sorted", Value: name, Want: fmt.Sprintf(
		"what the folder %s was sorted from: it is another file of that name, or was changed since. Sort into another folder, "+
			"or remove this one, and import with another checkpoint from the start: events keep their uuids", dir)}
}
