package verify

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// check returns an error for a Config that cannot be compared, before anything is asked.
func (c *Config) check() error {
	bad := func(field, value, want string) error {
		return &ops.InputError{Field: field, Value: value, Want: want}
	}
	var acknowledged, unconfirmed int64
	for _, row := range c.Rows {
		acknowledged += row.Acknowledged
		unconfirmed += row.Unconfirmed
	}
	switch {
	case c.ID == "":
		return bad("receipt.ID", "", "the receipt of an import with an ID: by it the events are found")
	case acknowledged != c.Acknowledged || unconfirmed != c.Unconfirmed:
		return bad("receipt.Days", strconv.FormatInt(acknowledged+unconfirmed, 10), fmt.Sprintf(
			"rows that add up to the %d acknowledged and %d unconfirmed events: the receipt as Import returned it", c.Acknowledged, c.Unconfirmed))
	case c.Acknowledged > 0 && (c.Oldest.IsZero() || c.Newest.Before(c.Oldest)):
		return bad("receipt.Oldest", "", "a time, and Newest not before it: the receipt as Import returned it")
	case c.EveryUUID && c.Source == nil:
		return bad("VerifyOptions.EveryUUID", "true", "a Source too, whose uuids are compared")
	case outgoing.LacksUnit(c.Patience):
		return bad("VerifyOptions.Patience", c.Patience.String(), outgoing.WantUnit)
	case c.Patience < 0:
		return bad("VerifyOptions.Patience", c.Patience.String(), "a duration, or 0 for the default of 24 h")
	}
	for _, path := range c.Rejects {
		if err := checkReadable("VerifyOptions.Rejects", "a reject file", path); err != nil {
			return err
		}
	}
	for _, path := range c.Files {
		if err := checkReadable("VerifyOptions.Source", "files that can be read", path); err != nil {
			return err
		}
	}
	return nil
}

// checkReadable refuses a path that cannot be read as a file. It reads one byte of a file, and nothing of a
// pipe.
func checkReadable(field, want, path string) error {
	info, err := os.Stat(path)
	if err == nil && (info.Mode().IsRegular() || info.IsDir()) {
		var f *os.File
		if f, err = os.Open(path); err == nil { //nolint:gosec // the caller names it
			_, err = f.Read(make([]byte, 1))
			_ = f.Close()
		}
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return &ops.InputError{Field: field, Value: filepath.Base(path), Want: want + ": " + errtext.Pathless(err).Error()}
}
