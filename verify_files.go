package hogapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hogapi/hogapi/internal/arrival"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/ops"
)

// verifyFiles are the files of a Verify: what it remembers, the uuids of the source, and the cells that
// were compared. Without a folder nothing is remembered.
type verifyFiles struct {
	dir     string
	receipt Receipt
	lock    durable.Lock
	temp    string // a folder to be removed
	log     *durable.Log
}

// verifyState is the file of what a Verify remembers.
type verifyState struct {
	Version int           `json:"version"`
	Import  string        `json:"import"`
	Digest  string        `json:"digest"` // of the receipt
	Memory  *verifyMemory `json:"memory"`
}

const verifyVersion = 1

// The files in a folder; sortedName is one more.
const (
	verifyStateName = "verify.json"
	verifyLockName  = "verify.lock"
	comparedName    = "verify.compared.jsonl"
)

// comparedCell is a line of the log of cells that were compared.
type comparedCell struct {
	Look  int           `json:"look"`
	Cell  int           `json:"cell"`
	Found arrival.Found `json:"found"`
}

func openVerifyFiles(dir string, r Receipt) (f verifyFiles, err error) {
	f = verifyFiles{dir: dir, receipt: r}
	if dir == "" {
		return f, nil
	}
	if err := (durable.OS{}).MakeFolder(dir); err != nil {
		return f, f.failed("the folder", err)
	}
	if f.lock, err = (durable.OS{}).Lock(f.path(verifyLockName)); errors.Is(err, durable.ErrLocked) {
		return f, stateFileError(err)
	}
	return f, f.failed(verifyLockName, err)
}

// failed is the error of a disk, with the name of the file in Dir and what to do.
func (f *verifyFiles) failed(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case f.dir == "":
		const text = "hogapi: verify: %s in the temporary folder: %w; fix the cause, such as a full disk, or set VerifyOptions.Dir, and verify again"
		return fmt.Errorf(text, name, pathless(err))
	}
	const text = "hogapi: verify: VerifyOptions.Dir: %s: %w; fix the cause, such as a full disk or a missing permission, and verify again with the same Dir"
	return fmt.Errorf(text, name, pathless(err))
}

func (f *verifyFiles) path(name string) string { return filepath.Join(f.dir, name) }

func (f *verifyFiles) state() string { return f.path(verifyStateName) }

func (f *verifyFiles) compared() string { return f.path(comparedName) }

// load reads what an earlier Verify of the same receipt remembers.
func (f *verifyFiles) load(into *verifyMemory) error {
	if f.dir == "" {
		return nil
	}
	raw, err := durable.Read(durable.OS{}, f.state())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return f.failed(verifyStateName, err)
	}
	var saved verifyState
	err = json.Unmarshal(raw, &saved)
	switch {
	case err != nil:
		return f.unfit("", "the folder of a Verify; its verify.json cannot be read: "+mask.Clean(err.Error()))
	case saved.Version != verifyVersion:
		return f.unfit("", "another folder: this one is of another release")
	case saved.Import != f.receipt.ID:
		return f.unfit(saved.Import, "a folder for each import: this one is of the import that is named here")
	case saved.Digest == f.receipt.Digest && saved.Memory != nil:
		*into = *saved.Memory
	}
	return nil
}

func (f *verifyFiles) unfit(value, want string) error {
	return &InputError{Op: ops.Verify, Field: "VerifyOptions.Dir", Value: value, Want: want}
}

func (f *verifyFiles) save(m *verifyMemory) error {
	if f.dir == "" {
		return nil
	}
	raw, err := json.Marshal(verifyState{verifyVersion, f.receipt.ID, f.receipt.Digest, m})
	if err != nil {
		return err
	}
	if err := f.lock.Check(); err != nil {
		return f.failed(verifyLockName, err)
	}
	return f.failed(verifyStateName, durable.Replace(durable.OS{}, f.state(), raw))
}

// folder is where uuids are sorted.
func (f *verifyFiles) folder() (string, error) {
	if f.dir != "" || f.temp != "" {
		return f.dir + f.temp, nil
	}
	var err error
	f.temp, err = os.MkdirTemp("", "hogapi-verify-")
	return f.temp, err
}

// openCompared returns the cells that were compared after a look.
func (f *verifyFiles) openCompared(look int) (found map[int]arrival.Found, err error) {
	found = map[int]arrival.Found{}
	if f.dir == "" {
		return found, nil
	}
	raw, err := durable.Read(durable.OS{}, f.compared())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, f.failed(comparedName, err)
	}
	for line := range bytes.Lines(raw) {
		var c comparedCell
		if json.Unmarshal(line, &c) == nil && c.Look == look {
			found[c.Cell] = c.Found
		}
	}
	f.log, err = durable.OpenLog(durable.OS{}, f.compared())
	return found, f.failed(comparedName, err)
}

// addCompared notes a cell that was compared.
func (f *verifyFiles) addCompared(c comparedCell) error {
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

// forget removes what only a comparison under way needs.
func (f *verifyFiles) forget() error {
	if f.dir == "" {
		return nil
	}
	var err error
	if f.log != nil {
		err, f.log = f.failed(comparedName, f.log.Close()), nil
	}
	parts, _ := filepath.Glob(f.path(arrival.Parts)) // the pattern is valid
	for _, name := range append(parts, f.compared(), f.path(sortedName)) {
		if failed := os.Remove(name); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, f.failed(filepath.Base(name), failed))
		}
	}
	return err
}

func (f *verifyFiles) close() error {
	var err error
	if f.log != nil {
		err = f.failed(comparedName, f.log.Close())
	}
	if f.temp != "" {
		err = errors.Join(err, f.failed("the folder", os.RemoveAll(f.temp)))
	}
	if f.lock != nil {
		err = errors.Join(err, f.failed(verifyLockName, f.lock.Close()))
	}
	return err
}
