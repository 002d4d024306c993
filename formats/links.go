package formats

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/extsort"
)

// SkipSharedDevice is the reason why a link is left out: more than one person used the anonymous id, and a link
// would merge them permanently.
const SkipSharedDevice = "a device with two users"

// Links returns a source of the $identify events that join the ids of a person, oldest first. Import it before
// the events that need the links, since merges act in the order of arrival:
//
//	hogapi.Concat(formats.Links(source), source)
//
// A link is a pair of Event.AnonymousID and Event.DistinctID, which formats set if a record has both. Each pair
// is one event, with a uuid derived from the pair and the time of the pair's oldest event. An anonymous id of
// two persons is linked to neither of them: it is skipped, with the reason [SkipSharedDevice].
//
// The source is read once before the first link, and again if an import resumes within the links. Pairs are
// sorted on disk, in the folder for temporary files, and take at most 32 MiB of memory. The next run removes
// the files that a crash has left there. Links ignores records that make no event.
func Links(source hogapi.Source) hogapi.Source { return links{source} }

type links struct{ source hogapi.Source }

func (l links) Name() string { return "links of " + l.source.Name() }

// Unwrap returns the source that is read.
func (l links) Unwrap() hogapi.Source { return l.source }

// linksKey is the key of the positions of links: the offset is the number of the link, from 1.
const linksKey = "links"

// linksMemory is how many bytes of pairs are sorted in memory at once.
const linksMemory = 8 << 20

func (l links) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		if err := l.events(ctx, after, func(ev hogapi.Event) bool { return yield(ev, nil) }); err != nil {
			yield(hogapi.Event{}, err)
		}
	}
}

func (l links) events(ctx context.Context, after hogapi.Position, yield func(hogapi.Event) bool) (err error) {
	if !after.IsZero() && after.Key != linksKey {
		return fmt.Errorf("there is no position %s among links", after)
	}
	dir, err := newTempFolder("hogapi-links-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.remove()) }()
	byTime, err := l.byTime(ctx, dir.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, byTime.Close()) }()
	n, damaged := int64(0), error(nil)
	err = byTime.Read(0, func(item []byte, _ int64) bool {
		if n++; n <= after.Offset {
			return true
		}
		if ctx.Err() != nil {
			damaged = context.Cause(ctx)
			return false
		}
		var p pair
		if damaged = json.Unmarshal(item[timeKey:], &p); damaged != nil {
			return false
		}
		return yield(p.event(hogapi.Position{Key: linksKey, Offset: n}))
	})
	return errors.Join(err, damaged)
}

// pair is an anonymous id and the person that used it, as they are kept.
type pair struct {
	Anonymous string `json:"a"`
	User      string `json:"u"`
	Unix      int64  `json:"t"` // of the oldest event
	Nanos     int32  `json:"n,omitempty"`
	IsShared  bool   `json:"s,omitempty"`
}

func (p pair) at() time.Time { return time.Unix(p.Unix, int64(p.Nanos)).UTC() }

var linkSpace = uuid.MustParse("8c1f4f0e-2a2b-5a55-9a35-0b8e2f8f7f01")

func (p pair) event(at hogapi.Position) hogapi.Event {
	if p.IsShared {
		return hogapi.SkippedEvent(at, SkipSharedDevice)
	}
	ev := hogapi.Identify(p.User, p.at(), nil)
	ev.Properties = map[string]any{"$anon_distinct_id": p.Anonymous}
	key := binary.BigEndian.AppendUint64(nil, uint64(len(p.Anonymous)))
	ev.UUID = uuid.NewSHA1(linkSpace, append(append(key, p.Anonymous...), p.User...))
	ev.Position = at
	return ev
}

// byTime reads the source, and gives the pairs by their times.
func (l links) byTime(ctx context.Context, dir string) (sorted *extsort.Sorter, err error) {
	byDevice, err := extsort.Open(dir+"/devices", extsort.Options{Name: l.Name(), Key: deviceKey, Memory: linksMemory})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, byDevice.Close()) }()
	if err := l.read(ctx, byDevice); err != nil {
		return nil, err
	}
	byTime, err := extsort.Open(dir+"/times", extsort.Options{Name: l.Name(), Key: timeKey, Memory: linksMemory})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(oneForEach(byDevice, byTime), byTime.Finish(ctx, nil)); err != nil {
		return nil, errors.Join(err, byTime.Close())
	}
	return byTime, nil
}

// read sorts the pairs of the source by their anonymous ids.
func (l links) read(ctx context.Context, byDevice *extsort.Sorter) error {
	oldest := map[[deviceKey]byte]time.Time{} // of the pairs seen lately, which are written once
	const lately = 1 << 16
	for ev, err := range l.source.Events(ctx, hogapi.Position{}) {
		if err != nil {
			return err
		}
		if ev.AnonymousID == "" || ev.DistinctID == "" || ev.AnonymousID == ev.DistinctID || ev.Timestamp.IsZero() {
			continue
		}
		mark := digest(ev.AnonymousID + "\x00" + ev.DistinctID)
		if at, known := oldest[mark]; known && !ev.Timestamp.Before(at) {
			continue
		}
		if len(oldest) >= lately {
			clear(oldest)
		}
		oldest[mark] = ev.Timestamp
		device := digest(ev.AnonymousID)
		p := pair{Anonymous: ev.AnonymousID, User: ev.DistinctID, Unix: ev.Timestamp.Unix(), Nanos: int32(ev.Timestamp.Nanosecond())}
		if err := put(byDevice, device[:], p); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return byDevice.Finish(ctx, nil)
}

// deviceKey is the length of an anonymous id as a key.
const deviceKey = 16

func digest(text string) [deviceKey]byte {
	sum := sha256.Sum256([]byte(text))
	return [deviceKey]byte(sum[:])
}

func put(sorter *extsort.Sorter, key []byte, p pair) error {
	if sorter.IsFull() {
		if err := sorter.EndRun(nil); err != nil {
			return err
		}
	}
	return sorter.Add(func(room []byte) ([]byte, error) {
		text, err := json.Marshal(p)
		return append(append(room, key...), text...), err
	})
}

// oneForEach sorts by time: of each anonymous id the oldest pair, and whether there are others.
func oneForEach(byDevice, byTime *extsort.Sorter) (err error) {
	var oldest pair
	read := byDevice.Read(0, func(item []byte, _ int64) bool {
		var p pair
		if err = json.Unmarshal(item[deviceKey:], &p); err != nil {
			return false
		}
		if p.Anonymous != oldest.Anonymous {
			err = putOldest(byTime, oldest)
			oldest = p
			return err == nil
		}
		isShared := oldest.IsShared || p.User != oldest.User
		if p.at().Before(oldest.at()) {
			oldest = p
		}
		oldest.IsShared = isShared
		return true
	})
	if err = errors.Join(read, err); err != nil {
		return err
	}
	return putOldest(byTime, oldest)
}

func putOldest(byTime *extsort.Sorter, p pair) error {
	if p.Anonymous == "" {
		return nil
	}
	return put(byTime, appendTime(nil, p.at()), p)
}

// tempFolder is a folder for temporary files. It is locked while it is in use, so that folders of
// dead processes can be found.
type tempFolder struct {
	path string
	lock durable.Lock
}

const tempLock = "lock"

// newTempFolder makes a folder with a name that begins with a prefix, and removes folders that
// crashes have left.
func newTempFolder(prefix string) (*tempFolder, error) {
	removeStale(prefix)
	const tries = 10
	var failed error
	for range tries {
		path, err := os.MkdirTemp("", prefix)
		if err != nil {
			return nil, err
		}
		lock, err := durable.OS{}.Lock(filepath.Join(path, tempLock))
		if err == nil {
			return &tempFolder{path, lock}, nil
		}
		_ = os.RemoveAll(path)
		failed = err // another process may have taken it for a stale one
	}
	return nil, failed
}

// remove removes the folder. At the same moment, another process may take the folder for a stale one and put its lock
// into it; that process then removes it. A later newTempFolder removes anything that is left.
func (f *tempFolder) remove() error {
	err := f.lock.Close()
	_ = os.RemoveAll(f.path)
	return err
}

// removeStale removes the folders that nobody has locked. A folder that cannot be removed stays.
func removeStale(prefix string) {
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, path := range found {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || !isPrivate(info) {
			continue
		}
		lock, err := durable.OS{}.Lock(filepath.Join(path, tempLock))
		if err != nil {
			continue
		}
		_ = os.RemoveAll(path)
		_ = lock.Close()
	}
}

// isPrivate reports whether only one user can write into a folder: a lock is opened in no other.
func isPrivate(info fs.FileInfo) bool {
	const others = 0o077
	return runtime.GOOS == "windows" || info.Mode().Perm()&others == 0
}
