package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/extsort"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/ops"
)

// folder has the files of a Verify: its memory, the uuids of the source, and the cells that were compared.
// Without VerifyOptions.Dir nothing is remembered.
type folder struct {
	dir  string
	of   Import
	lock durable.Lock
	temp string // a folder to be removed
	log  *durable.Log
}

// savedMemory is the content of the file of a Verify's memory.
type savedMemory struct {
	Version int     `json:"version"`
	Import  string  `json:"import"`
	Digest  string  `json:"digest"` // of the receipt
	Memory  *memory `json:"memory"`
}

const version = 1

// The files in a folder; sortedName is a folder within it.
const (
	memoryName   = "verify.json"
	lockName     = "verify.lock"
	comparedName = "verify.compared.jsonl"
)

type comparedCell struct {
	Look  int   `json:"look"`
	Cell  int   `json:"cell"`
	Found Found `json:"found"`
}

func openFolder(dir string, r Import) (f folder, err error) {
	f = folder{dir: dir, of: r}
	if dir == "" {
		return f, nil
	}
	if err := (durable.OS{}).MakeFolder(dir); err != nil {
		return f, f.failed("the folder", err)
	}
	if f.lock, err = (durable.OS{}).Lock(f.path(lockName)); errors.Is(err, durable.ErrLocked) {
		return f, err
	}
	return f, f.failed(lockName, err)
}

// failed returns the error of a disk, with the name of the file in Dir and how to proceed.
func (f *folder) failed(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case f.dir == "":
		const text = "hogapi: verify: %s in the temporary folder: %w; fix the cause, such as a full disk, or set VerifyOptions.Dir, and verify again"
		return fmt.Errorf(text, name, errtext.Pathless(err))
	}
	const text = "hogapi: verify: VerifyOptions.Dir: %s: %w; fix the cause, such as a full disk or a missing permission, and verify again with the same Dir"
	return fmt.Errorf(text, name, errtext.Pathless(err))
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// load reads the memory of an earlier Verify of the same receipt.
func (f *folder) load(into *memory) error {
	if f.dir == "" {
		return nil
	}
	raw, err := durable.Read(durable.OS{}, f.path(memoryName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return f.failed(memoryName, err)
	}
	var saved savedMemory
	err = json.Unmarshal(raw, &saved)
	switch {
	case err != nil:
		return f.unfit("", "the folder of a Verify; its verify.json cannot be read: "+mask.Clean(err.Error()))
	case saved.Version != version:
		return f.unfit("", "another folder: this one is of another release")
	case saved.Import != f.of.ID:
		return f.unfit(saved.Import, "a folder for each import: this one is of the import that is named here")
	case saved.Digest == f.of.Digest && saved.Memory != nil:
		*into = *saved.Memory
	}
	return nil
}

func (f *folder) unfit(value, want string) error {
	return &ops.InputError{Field: "VerifyOptions.Dir", Value: value, Want: want}
}

func (f *folder) save(m *memory) error {
	if f.dir == "" {
		return nil
	}
	raw, err := json.Marshal(savedMemory{version, f.of.ID, f.of.Digest, m})
	if err != nil {
		return err
	}
	if err := f.lock.Check(); err != nil {
		return f.failed(lockName, err)
	}
	return f.failed(memoryName, durable.Replace(durable.OS{}, f.path(memoryName), raw))
}

// scratch returns the folder for sorting uuids: Dir, or a temporary one.
func (f *folder) scratch() (string, error) {
	if f.dir != "" || f.temp != "" {
		return f.dir + f.temp, nil
	}
	var err error
	f.temp, err = os.MkdirTemp("", "hogapi-verify-")
	return f.temp, err
}

// openCompared returns the cells that were compared after a look.
func (f *folder) openCompared(look int) (found map[int]Found, err error) {
	found = map[int]Found{}
	if f.dir == "" {
		return found, nil
	}
	raw, err := durable.Read(durable.OS{}, f.path(comparedName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, f.failed(comparedName, err)
	}
	for line := range bytes.Lines(raw) {
		var c comparedCell
		if json.Unmarshal(line, &c) == nil && c.Look == look {
			found[c.Cell] = c.Found
		}
	}
	f.log, err = durable.OpenLog(durable.OS{}, f.path(comparedName))
	return found, f.failed(comparedName, err)
}

func (f *folder) addCompared(c comparedCell) error {
	if f.log == nil {
		return nil
	}
	raw, err := json.Marshal(c)
	if err == nil {
		err = f.log.Append(raw)
	}
	if err == nil {
		err = f.log.Sync()
	}
	return f.failed(comparedName, err)
}

// forget removes the files that only a comparison under way needs.
func (f *folder) forget() error {
	if f.dir == "" {
		return nil
	}
	var err error
	if f.log != nil {
		err, f.log = f.failed(comparedName, f.log.Close()), nil
	}
	return errors.Join(err, f.forgetCompared(), f.failed(sortedName, extsort.Remove(f.path(sortedName))))
}

func (f *folder) forgetCompared() error {
	if f.dir == "" {
		return nil
	}
	if err := os.Remove(f.path(comparedName)); !errors.Is(err, fs.ErrNotExist) {
		return f.failed(comparedName, err)
	}
	return nil
}

func (f *folder) close() error {
	var err error
	if f.log != nil {
		err = f.failed(comparedName, f.log.Close())
	}
	if f.temp != "" {
		err = errors.Join(err, f.failed("the folder", os.RemoveAll(f.temp)))
	}
	if f.lock != nil {
		err = errors.Join(err, f.failed(lockName, f.lock.Close()))
	}
	return err
}
