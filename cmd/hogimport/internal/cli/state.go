package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/durable"
)

// stateRoot is the folder of the state folders, unless --state says otherwise.
const stateRoot = "hogimport-state"

// lockName is the file in a state folder that a run locks.
const lockName = "run.lock"

// state is the state folder of an import: its settings, position, rejects and result.
type state struct {
	dir  string
	kept kept

	isChanged bool     // the files are read in another way than before
	more      []string // files that are added to a complete import
}

// kept is the content of import.json.
type kept struct {
	ID    string    `json:"id"`
	Input input     `json:"input"` // the files by absolute paths
	Begun time.Time `json:"begun"`
	target

	Mapping int `json:"mapping,omitempty"` // the version of the mapping; 0: the format has none, or the release before versions

	Files []knownFile `json:"files,omitempty"` // the files of Input
	More  string      `json:"more,omitempty"`  // flags of the last run that Input does not have, as they are typed
	Plan  string      `json:"plan,omitempty"`  // the file of the plan of the last run

	Memory string `json:"memory,omitempty"` // --memory of the last run that had it

	Total   int64 `json:"total,omitempty"` // about how many records there are; 0: not known
	IsExact bool  `json:"exact,omitempty"` // there are so many

	Skipped map[string][]string `json:"skipped,omitempty"` // where some records are that are left out, by reason
	Links   int64               `json:"links,omitempty"`   // pairs of ids that come first, with the left-out pairs of shared devices
	Rows    *testedRows         `json:"rows,omitempty"`    // of PostHog's own export, once all was sent

	// Of a fix: the reject file that it reads, and the size of that of the import when it began.
	Rejects     string `json:"rejects,omitempty"`
	RejectsSize int64  `json:"rejects_size,omitempty"`
}

// UnmarshalJSON reads the content of import.json. The files are read with the mapping that the import began with.
func (k *kept) UnmarshalJSON(text []byte) error {
	type plain kept
	if err := json.Unmarshal(text, (*plain)(k)); err != nil {
		return err
	}
	if was := k.mapping(); was >= formats.OldestMapping && was <= formats.MappingVersion {
		k.Input.mapping = was
	}
	return nil
}

// mapping is the version of the mapping that the import began with.
func (k *kept) mapping() int {
	switch {
	case k.Mapping != 0:
		return k.Mapping
	case isMapped(k.Input.Format): // which have a version since 4
		return formats.OldestMapping
	}
	return 1 // of the releases that kept none
}

// total is about how much there is in all, with the links where they are known; 0: not known.
func (k *kept) total() int64 {
	if k.Total == 0 {
		return 0
	}
	return k.Total + k.Links
}

func (k *kept) isExact() bool { return k.IsExact && (k.Links > 0 || !k.Input.Links) }

// snapshot is the content of progress.json: the progress of a run. It is written every few seconds.
type snapshot struct {
	At           time.Time `json:"at"`
	Read         int64     `json:"read"`
	Acknowledged int64     `json:"acknowledged"`
	Rejected     int64     `json:"rejected"`
	Unconfirmed  int64     `json:"unconfirmed"`
	Skipped      int64     `json:"skipped"`
	Unanswered   int64     `json:"doubtful,omitempty"` // were sent, and no answer came
	Ended        string    `json:"ended,omitempty"`    // why the run has ended: "complete" or the reason; empty while it runs, or after a kill
	WaitingFor   string    `json:"waiting_for,omitempty"`
	Since        time.Time `json:"since,omitzero"` // it waits
}

func (s *state) file(name string) string { return filepath.Join(s.dir, name) }

func (s *state) checkpoint() string  { return s.file("checkpoint.json") }
func (s *state) rejects() string     { return s.file("rejects.jsonl") }
func (s *state) receiptFile() string { return s.file("receipt.json") }

// openState reads a state folder. Its input is checked.
func openState(ctx context.Context, dir string) (*state, error) {
	s := &state{dir: dir}
	found, err := s.read("import.json", &s.kept)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, notAState(dir)
	}
	return s, s.kept.Input.check(ctx)
}

func isStarted(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "import.json"))
	return err == nil
}

func (s *state) save() error { return s.write("import.json", s.kept) }

func (s *state) saveReceipt(r hogapi.Receipt) error { return s.write("receipt.json", r) }

// receipt returns the result so far, from the last run that was not killed.
func (s *state) receipt() (r hogapi.Receipt, found bool, err error) {
	found, err = s.read("receipt.json", &r)
	return r, found, err
}

// progress returns the progress of the import when a run last saved it.
func (s *state) progress() (p snapshot, found bool, err error) {
	found, err = s.read("progress.json", &p)
	return p, found, err
}

func (s *state) saveProgress(p snapshot) error { return s.write("progress.json", p) }

func (s *state) write(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err == nil {
		err = durable.Replace(durable.OS{}, s.file(name), append(text, '\n'))
	}
	if err != nil {
		return stateFault(s.dir, err)
	}
	return nil
}

func (s *state) read(name string, value any) (found bool, err error) {
	text, err := os.ReadFile(s.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, value)
	}
	if k, ok := value.(*kept); ok && err == nil && k.ID == "" {
		err = errors.New("not written by hogimport")
	}
	if err != nil {
		return false, &shell.Fault{Code: shell.CodeOther, Text: fmt.Sprintf("%s cannot be read: %v", s.file(name), err),
			Todo: "restore a backup of the state folder, or give another one with --state DIR", Err: err}
	}
	return true, nil
}

// verified is the content of verified.json: all events of the receipt with this digest are in the
// project.
type verified struct {
	Digest string `json:"digest"`
}

func (s *state) saveVerified(r hogapi.Receipt) error {
	return s.write("verified.json", verified{r.Digest})
}

// isVerified reports whether all events of the result so far are in the project.
func (s *state) isVerified() (bool, error) {
	var v verified
	if found, err := s.read("verified.json", &v); err != nil || !found {
		return false, err
	}
	r, found, err := s.receipt()
	return found && r.Digest == v.Digest, err
}

// lock makes the folder and takes ownership: another run gets an error at once. The lock ends with the process.
func (s *state) lock() (io.Closer, error) {
	if err := (durable.OS{}).MakeFolder(s.dir); err != nil {
		return nil, stateFault(s.dir, err)
	}
	lock, err := durable.OS{}.Lock(s.file(lockName))
	switch {
	case errors.Is(err, durable.ErrLocked):
		return nil, &shell.Fault{Code: shell.CodeOther, Text: "another run uses the state folder " + s.dir, Err: err,
			Todo: "hogimport status shows its progress. Wait for it, or stop it with Ctrl-C; for other files give --state DIR"}
	case err != nil:
		return nil, stateFault(s.dir, err)
	}
	return lock, nil
}

func notAState(dir string) error {
	return shell.UsageError(dir+" is not a state folder of hogimport", "give the folder of an import with --state DIR; hogimport status lists the folders below "+stateRoot)
}

// onlyState returns the given state folder, or else the only one.
func onlyState(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	found, _ := filepath.Glob(filepath.Join(stateRoot, "*", "import.json"))
	switch len(found) {
	case 0:
		return "", shell.UsageError("there is no import below "+stateRoot, "name the state folder of the import with --state DIR")
	case 1:
		return filepath.Dir(found[0]), nil
	}
	return "", shell.UsageError(fmt.Sprintf("there are %d imports below %s", len(found), stateRoot), "name the state folder of one with --state DIR; hogimport status lists them")
}

// findState returns the state folder of an import that has begun: the given one, the one of the given files, or
// the only one. With an error about its files, which can be gone, it returns the folder too.
func findState(ctx context.Context, dir string, files []string) (*state, error) {
	if dir == "" && len(files) > 0 {
		in := input{Files: files}
		if named := filepath.Join(stateRoot, stateName(in.paths())); isStarted(named) {
			dir = named
		}
	}
	dir, err := onlyState(dir)
	if err != nil {
		return nil, err
	}
	return openState(ctx, dir)
}

func stateFault(dir string, err error) error {
	return &shell.Fault{Code: shell.CodeOther, Text: fmt.Sprintf("the state folder %s cannot be written: %v", dir, shell.Cause(err)), Err: err,
		Todo: "free some disk space or correct the permissions, or give another folder with --state DIR"}
}

// stateName returns a name for the import of some files: the name of a single file, or else of their folder.
func stateName(paths []string) string {
	name := filepath.Base(paths[0])
	if len(paths) > 1 {
		name = filepath.Base(filepath.Dir(absolute(paths[0])))
	} else {
		for _, end := range []string{".gz", ".zst", ".zip", ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt", ".parquet"} {
			name = strings.TrimSuffix(name, end)
		}
	}
	const longest = 60
	return shell.FileName(name, longest, "import")
}

// folderOf returns the state folder of an import of some files. A source that is made of files of another import has a
// folder of its own.
func (in *input) folderOf(paths []string) string {
	name := stateName(paths)
	if vendors[in.Format].isHistory {
		name += "-people"
	}
	return filepath.Join(stateRoot, name)
}

// importID returns a name for the import of some files: the same name for the same files, and another name for
// files that begin with other content, since all events of an import are found by it.
func importID(paths []string) string {
	const lead = 64 << 10
	hash := sha256.New()
	if f, err := os.Open(paths[0]); err == nil {
		_, _ = io.CopyN(hash, f, lead)
		_ = f.Close()
	}
	return fmt.Sprintf("hogimport-%s-%x", stateName(paths), hash.Sum(nil)[:4])
}

// importIDOf returns the name for the import of files that are read with some settings: other settings make
// other events.
func importIDOf(paths []string, in *input) string {
	id := importID(paths)
	reading := *in // but which records, and in which order, does not change their events
	reading.Files, reading.Until, reading.Sort, reading.Links, reading.SharedDevices, reading.MaxIDs = nil, "", false, false, "", ""
	reading.Sessions, reading.SessionsAfter = "", ""
	if reading.differences(&input{Choices: history.Choices{Format: "jsonl"}}) == "" {
		return id
	}
	text, _ := json.Marshal(reading) //nolint:errchkjson // it has texts only
	sum := sha256.Sum256(text)
	return fmt.Sprintf("%s-%x", id, sum[:2])
}

// another advises how to import the files of a begun import with other flags of these names.
func (s *state) another(names string) string {
	const folder = "give the same flags to continue it. To import with others, give another folder with --state DIR"
	for _, key := range new(history.Choices).Keys()[:ofEvents] {
		if strings.Contains(names, "--"+key.Name) {
			return folder + ": it is another import, and adds its events to the ones sent before. hogimport undo removes the earlier ones"
		}
	}
	return folder + ", and --import-id " + s.kept.ID + ": its events then have the same uuids, so each is stored once"
}

// absolute returns the absolute path, if the system knows it.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// version returns the version of the mapping of a vendor's format, or 0 for formats without one. The input must have
// passed check or checkFormat.
func (in *input) version() int {
	if strings.HasPrefix(in.format().Options, "mapping ") {
		return cmp.Or(in.mapping, formats.MappingVersion)
	}
	return 0
}

// hasOtherMapping reports whether the import was begun with a mapping that this release does not have, which makes
// other properties of the same records. It returns its version.
func (s *state) hasOtherMapping() (was int, yes bool) {
	was = s.kept.mapping()
	return was, s.kept.Input.version() != 0 && (was < formats.OldestMapping || was > formats.MappingVersion)
}

const theRest = "the rest of it"

// checkMapping refuses to send more events of an import, or its rejects, with another mapping. The text names them in
// the error.
func (s *state) checkMapping(what string) error {
	was, isOther := s.hasOtherMapping()
	if !isOther {
		return nil
	}
	f := mappingFault(s.dir, was)
	f.Text = fmt.Sprintf("the import in %s was begun by another release, with version %d of its mapping; this release has versions %d and %d, "+
		"so %s would have other properties than the events before. Nothing was sent", s.dir, was, formats.OldestMapping, formats.MappingVersion, what)
	if p, _, _ := s.progress(); p.Ended == isComplete {
		f.Lines = append(f.Lines, "It is complete: hogimport verify and hogimport undo do their work as before.")
	}
	return f
}

// mappingFault has the advice for an import that another release has begun.
func mappingFault(dir string, was int) *shell.Fault {
	return &shell.Fault{
		Code: shell.CodeUsage, Text: fmt.Sprintf("the import in %s was begun with version %d of the mapping, by another release", dir, was),
		Todo: "use the release of hogimport that began it. To have all events as this release makes them, first remove the sent ones, " +
			"and then import the files with a folder and a name of their own, with --state DIR and --import-id NAME",
		Next: []shell.Step{{Text: "Remove the sent events:", Command: "hogimport undo --state " + shell.Quoted(dir)}},
	}
}
