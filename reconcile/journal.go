package reconcile

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/watch"
)

// journal keeps the answers of the sides in a file, one line each. The same comparison asks the same questions, so after a
// kill it finds the answers there.
type journal struct {
	path  string
	lock  durable.Lock
	log   *durable.Log
	file  *os.File
	size  int64
	where map[string]line // by question
	times [2][]time.Time  // of the questions to each side
	begun time.Time
	to    time.Time
}

type line struct{ offset, length int64 }

// entry is a line of the journal.
type entry struct {
	Of      string          `json:"of,omitempty"` // the comparison, in the first line
	To      time.Time       `json:"to,omitzero"`
	Ask     string          `json:"ask,omitempty"`
	Side    int             `json:"side,omitempty"`
	At      time.Time       `json:"at,omitzero"`
	TooMuch bool            `json:"too_much,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"`
	Done    bool            `json:"done,omitempty"`
}

const (
	journalName = "reconcile.jsonl"
	freshFor    = 24 * time.Hour
)

// openJournal opens the journal of a comparison, or begins one. Without a folder, nothing is kept.
func openJournal(dir, of string, to, now time.Time) (*journal, error) {
	j := &journal{where: map[string]line{}, begun: now, to: to}
	if dir == "" {
		return j, nil
	}
	disk := durable.OS{}
	if err := disk.MakeFolder(dir); err != nil {
		return nil, fmt.Errorf("reconcile: the folder: %w", err)
	}
	j.path = filepath.Join(dir, journalName)
	lock, err := disk.Lock(j.path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("reconcile: the folder is in use by another comparison: %w", err)
	}
	j.lock = lock
	if err := j.open(of, now); err != nil {
		return nil, errors.Join(fmt.Errorf("reconcile: the folder: %w", err), j.close())
	}
	return j, nil
}

func (j *journal) open(of string, now time.Time) error {
	first, err := j.read()
	if err != nil {
		return err
	}
	disk := durable.OS{}
	switch isOld := first.Done || now.Sub(first.At) >= freshFor || first.At.IsZero(); {
	case isOld:
		j.where, j.times = map[string]line{}, [2][]time.Time{}
		if err := disk.Remove(j.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	case first.Of != of:
		return errors.New("it has another comparison that is not finished: take another folder, or remove " + journalName)
	default:
		j.begun, j.to = first.At, first.To
	}
	log, err := durable.OpenLog(disk, j.path)
	if err != nil {
		return err
	}
	file, err := os.Open(j.path)
	if err != nil {
		return errors.Join(err, log.Close())
	}
	j.log, j.file = log, file
	if j.size, err = file.Seek(0, io.SeekEnd); err != nil || j.size > 0 {
		return err
	}
	return j.append(entry{Of: of, At: now, To: j.to})
}

// read reads what an earlier process wrote. A line that a kill has torn is left out.
func (j *journal) read() (first entry, err error) {
	f, err := os.Open(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return first, nil
	}
	if err != nil {
		return first, err
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 1<<20)
	for offset := int64(0); ; {
		text, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return first, nil
		}
		if err != nil {
			return first, err
		}
		var e entry
		if json.Unmarshal(text, &e) == nil {
			j.note(e, line{offset, int64(len(text))})
			if e.Of != "" {
				first = e
			}
			first.Done = first.Done || e.Done
		}
		offset += int64(len(text))
	}
}

func (j *journal) note(e entry, at line) {
	if e.Ask != "" {
		j.where[e.Ask] = at
		j.times[e.Side] = append(j.times[e.Side], e.At)
	}
}

func (j *journal) append(e entry) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := j.log.Append(text); err != nil {
		return err
	}
	at := line{j.size, int64(len(text)) + 1}
	j.size += at.length
	if e.Ask != "" {
		j.where[e.Ask] = at
	}
	return j.log.Sync()
}

// recall returns an earlier answer.
func (j *journal) recall(ask string, into any) (tooMuch, known bool, err error) {
	at, known := j.where[ask]
	if !known || j.file == nil {
		return false, false, nil
	}
	text := make([]byte, at.length)
	if _, err := j.file.ReadAt(text, at.offset); err != nil {
		return false, false, err
	}
	var e entry
	if err := json.Unmarshal(text, &e); err != nil {
		return false, false, err
	}
	if e.TooMuch {
		return true, true, nil
	}
	return false, true, json.Unmarshal(e.Answer, into)
}

// keep keeps an answer.
func (j *journal) keep(ask string, side int, at time.Time, tooMuch bool, answer any) error {
	if j.log == nil {
		return nil
	}
	e := entry{Ask: ask, Side: side, At: at, TooMuch: tooMuch}
	if !tooMuch {
		text, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		e.Answer = text
	}
	return j.append(e)
}

// finish marks the comparison as done.
func (j *journal) finish() error {
	if j.log == nil {
		return nil
	}
	return j.append(entry{Done: true})
}

func (j *journal) close() (err error) {
	if j.log != nil {
		err = errors.Join(j.log.Close(), j.file.Close())
	}
	if j.lock != nil {
		err = errors.Join(err, j.lock.Close())
	}
	return err
}

// pace waits until a side may be asked again: at most so often in any hour.
func (j *journal) pace(ctx context.Context, side, perHour int, now func() time.Time) error {
	if perHour <= 0 {
		j.times[side] = append(j.times[side], now())
		return nil
	}
	if n := len(j.times[side]); n >= perHour {
		if wait := j.times[side][n-perHour].Add(time.Hour).Sub(now()); wait > 0 && !watch.Sleep(ctx, wait) {
			return context.Cause(ctx)
		}
	}
	j.times[side] = append(j.times[side], now())
	return nil
}

// hash names a question or a comparison.
func hash(parts ...any) (string, error) {
	text, err := json.Marshal(parts)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	const enough = 16
	return hex.EncodeToString(sum[:enough]), nil
}
