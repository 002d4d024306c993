package formats

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/ops"
)

// sessionTail has the sessions that were open at the end of a source.
type sessionTail struct {
	until  time.Time // the last event of the source
	open   map[sessionKey]openSession
	digest string // of the file
}

// tailFile is the content of a tail's file, as JSON.
type tailFile struct {
	Of      string     `json:"hogapi"` // tailOf
	Silence string     `json:"silence"`
	Key     string     `json:"key,omitempty"`
	Device  string     `json:"device,omitempty"`
	Until   time.Time  `json:"until"`
	Open    []tailLine `json:"open"`
}

const tailOf = "open sessions, 1"

// tailLine is an open session. All ids are digests.
type tailLine struct {
	ID        string `json:"id"`
	Start     int64  `json:"start"` // nanoseconds since 1970
	Last      int64  `json:"last"`
	User      uint64 `json:"user,string,omitempty"`
	Anonymous uint64 `json:"anonymous,string,omitempty"`
	IsVendors bool   `json:"vendors,omitempty"`
}

func newTailFile(o *SessionOptions) tailFile {
	return tailFile{Of: tailOf, Silence: o.Silence.String(), Key: o.Key, Device: o.Device}
}

// readTail reads the file of SessionOptions.After.
func readTail(path string, o *SessionOptions) (*sessionTail, error) {
	refused := func(want string) error {
		return &hogapi.InputError{Op: ops.Import, Field: "SessionOptions.After", Value: path, Want: want}
	}
	text, err := os.ReadFile(path) //nolint:gosec // the caller names the file
	if err != nil {
		return nil, fmt.Errorf("the open sessions of the source before cannot be read: %w", err)
	}
	file, ok := parseTail(text)
	if !ok {
		return nil, refused("a file that SessionOptions.Tail has named; this one is another, or is not whole")
	}
	if want := newTailFile(o); file.Silence != want.Silence || file.Key != want.Key || file.Device != want.Device {
		return nil, refused(fmt.Sprintf("a file of the same options Silence, Key and Device; this one has %s, %q and %q", file.Silence, file.Key, file.Device))
	}
	tail := &sessionTail{until: file.Until, open: make(map[sessionKey]openSession, len(file.Open)), digest: digestOf(text)}
	for _, line := range file.Open {
		id, err := hex.DecodeString(line.ID)
		if err != nil || len(id) != len(sessionKey{}) {
			return nil, refused("a file that SessionOptions.Tail has named; this one is changed")
		}
		tail.open[sessionKey(id)] = openSession{line.Start, line.Last, line.User, line.Anonymous, line.IsVendors}
	}
	return tail, nil
}

func parseTail(text []byte) (file tailFile, ok bool) {
	text, ok = durable.Unseal(tailOf, text)
	return file, ok && json.Unmarshal(text, &file) == nil && file.Of == tailOf
}

// writeTail writes the open sessions to a file, as a whole or not at all. It replaces no other file than one of
// its own kind.
func (s *sessionState) writeTail(path string) error {
	before, err := os.ReadFile(path) //nolint:gosec // the caller names the file
	switch {
	case err == nil:
		if _, ok := parseTail(before); !ok {
			return &hogapi.InputError{Op: ops.Import, Field: "SessionOptions.Tail", Value: path,
				Want: "a new file, or one that Sessions has written: this file is another one, and stays as it is"}
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the open sessions cannot be written: %w", err)
	}
	file := newTailFile(s.options)
	file.Until, file.Open = s.until.UTC(), []tailLine{}
	if s.now.After(s.until) {
		file.Until = s.now.UTC()
	}
	for key, open := range s.open {
		if s.isOpen(open, file.Until.UnixNano()) {
			file.Open = append(file.Open, tailLine{hex.EncodeToString(key[:]), open.start, open.last, open.user, open.anonymous, open.isVendors})
		}
	}
	slices.SortFunc(file.Open, func(a, b tailLine) int { return cmp.Compare(a.ID, b.ID) })
	text, err := json.Marshal(file)
	if err == nil {
		err = durable.Replace(durable.OS{}, path, durable.Seal(tailOf, text))
	}
	if err != nil {
		return fmt.Errorf("the open sessions cannot be written: %w", err)
	}
	return nil
}
