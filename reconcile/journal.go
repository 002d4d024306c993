package reconcile

import (
	"bufio"
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
	"github.com/hogapi/hogapi/internal/narrow"
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
	asked [2][]time.Time  // when each side was asked, before this comparison
	begun time.Time
	to    time.Time
}

type line struct{ offset, length int64 }

// entry is a line of the journal.
type entry struct {
	Of      string          `json:"of,omitempty"` // the comparison, in the first line
	To      time.Time       `json:"to,omitzero"`
	Asked   [2][]time.Time  `json:"asked,omitzero"` // in the first line: the questions of an earlier comparison
	Ask     string          `json:"ask,omitempty"`
	Side    int             `json:"side,omitempty"`
	At      time.Time       `json:"at,omitzero"` // in the first line: of the beginning; else of a question to Side
	TooMuch bool            `json:"too_much,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"`
	Done    bool            `json:"done,omitempty"`
}

const (
	journalName = "reconcile.jsonl"
	freshFor    = 24 * time.Hour
	clocksApart = time.Minute
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
	for side := range j.asked {
		j.asked[side] = lastHour(j.asked[side], now)
	}
	disk := durable.OS{}
	age := now.Sub(first.At) // below 0: a clock was set back, and nothing tells how old the answers are
	switch isOld := first.Done || age >= freshFor || age < -clocksApart || first.At.IsZero(); {
	case isOld:
		j.where = map[string]line{}
		if err := disk.Remove(j.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	case first.Of != of:
		return errors.New("the folder has another unfinished comparison: take another folder, or remove " + journalName)
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
	return j.append(entry{Of: of, At: now, To: j.to, Asked: j.asked})
}

// lastHour returns the times of the hour before now. A time after it is of a clock that was ahead, and counts as now.
func lastHour(times []time.Time, now time.Time) (last []time.Time) {
	for _, at := range times {
		if at = narrow.Earlier(at, now); now.Sub(at) < time.Hour {
			last = append(last, at)
		}
	}
	return last
}

// read reads the entries of an earlier process. A line that a kill has torn is left out.
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
	}
	if e.Of == "" && !e.At.IsZero() {
		j.asked[e.Side] = append(j.asked[e.Side], e.At)
	}
	for side := range e.Asked {
		j.asked[side] = append(j.asked[side], e.Asked[side]...)
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
	return nil
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

// ask notes a question that is about to be asked: a kill does not make it free.
func (j *journal) ask(side int, at time.Time) error {
	if j.log == nil {
		return nil
	}
	return j.append(entry{Side: side, At: at.UTC()})
}

// keep keeps an answer.
func (j *journal) keep(ask string, tooMuch bool, answer any) error {
	if j.log == nil {
		return nil
	}
	e := entry{Ask: ask, TooMuch: tooMuch}
	if !tooMuch {
		text, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		e.Answer = text
	}
	return errors.Join(j.append(e), j.log.Sync())
}

// finish marks the comparison as done.
func (j *journal) finish() error {
	if j.log == nil {
		return nil
	}
	return errors.Join(j.append(entry{Done: true}), j.log.Sync())
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
