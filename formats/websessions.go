package formats

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/channel"
	"github.com/hogapi/hogapi/internal/extsort"
)

// webSession is a session, or a part of one. Its times are in microseconds since 1970.
type webSession struct {
	ID           uuid.UUID
	First        int64
	Last         int64
	Pageviews    uint32
	Screens      uint32
	Autocaptures uint32

	Channel   string
	ChannelAt int64 // the rank of the event that it is of
	Entry     string
	EntryAt   int64 // MaxInt64: no event has a URL
	Exit      string
	ExitAt    int64 // MinInt64: no event has a URL
	Country   string
	CountryAt int64 // MaxInt64: no event has a country
}

// append writes a session for the disk, its ID first.
func (s *webSession) append(b []byte) []byte {
	b = append(b, s.ID[:]...)
	for _, n := range []uint32{s.Pageviews, s.Screens, s.Autocaptures} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, n := range []int64{s.First, s.Last, s.ChannelAt, s.EntryAt, s.ExitAt, s.CountryAt} {
		b = binary.AppendVarint(b, n)
	}
	for _, text := range []string{s.Channel, s.Entry, s.Exit, s.Country} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}

// read is the reverse of append. The sorter has checked the bytes.
func (s *webSession) read(b []byte) {
	b = b[copy(s.ID[:], b):]
	for _, to := range []*uint32{&s.Pageviews, &s.Screens, &s.Autocaptures} {
		n, size := binary.Uvarint(b)
		*to, b = uint32(n), b[size:]
	}
	for _, to := range []*int64{&s.First, &s.Last, &s.ChannelAt, &s.EntryAt, &s.ExitAt, &s.CountryAt} {
		n, size := binary.Varint(b)
		*to, b = n, b[size:]
	}
	for _, to := range []*string{&s.Channel, &s.Entry, &s.Exit, &s.Country} {
		n, size := binary.Uvarint(b)
		b = b[size:]
		*to, b = string(b[:n]), b[n:]
	}
}

// later ranks events that are no views after all views, and as the last ones before them.
const later = 1 << 60

// merge adds another part of the same session. Of two texts of the same time, it takes the same one in any order.
func (s *webSession) merge(o *webSession) {
	s.First, s.Last = min(s.First, o.First), max(s.Last, o.Last)
	s.Pageviews, s.Screens, s.Autocaptures = s.Pageviews+o.Pageviews, s.Screens+o.Screens, s.Autocaptures+o.Autocaptures
	earlier := func(at *int64, text *string, otherAt int64, other string) {
		if otherAt < *at || otherAt == *at && other < *text {
			*at, *text = otherAt, other
		}
	}
	earlier(&s.ChannelAt, &s.Channel, o.ChannelAt, o.Channel)
	earlier(&s.EntryAt, &s.Entry, o.EntryAt, o.Entry)
	earlier(&s.CountryAt, &s.Country, o.CountryAt, o.Country)
	if o.ExitAt > s.ExitAt || o.ExitAt == s.ExitAt && o.Exit > s.Exit {
		s.ExitAt, s.Exit = o.ExitAt, o.Exit
	}
}

// webFold folds events into sessions. Its zero value is ready.
type webFold struct {
	at       map[uuid.UUID]int32 // places in sessions
	sessions []webSession
	texts    map[string]string // that sessions have
	bytes    int               // of them

	most   int // sessions in memory; 0: maxInMemory
	dir    *tempFolder
	sorter *extsort.Sorter
}

const (
	maxInMemory = 1 << 15
	maxText     = 4 << 20 // bytes
	foldMemory  = 4 << 20 // bytes of sessions that are sorted in memory at once
	longestPath = 200     // bytes
	webKey      = len(uuid.UUID{})
)

// add adds an event of a session.
func (f *webFold) add(id uuid.UUID, ev *hogapi.Event, p *webProperties) error {
	at := ev.Timestamp.UnixMicro()
	s := webSession{ID: id, First: at, Last: at, EntryAt: math.MaxInt64, ExitAt: math.MinInt64, CountryAt: math.MaxInt64}
	rank, lastRank := at, at
	switch ev.Name {
	case "$pageview":
		s.Pageviews = 1
	case "$screen":
		s.Screens = 1
	case "$autocapture":
		s.Autocaptures = 1
		fallthrough
	default:
		rank, lastRank = at+later, at-later
	}
	i, known := f.at[id]
	s.ChannelAt = math.MaxInt64
	if !known || rank <= f.sessions[i].ChannelAt {
		s.Channel, s.ChannelAt = channel.Of(p.touch()), rank
	}
	if p[fieldURL].isSet && (!known || rank <= f.sessions[i].EntryAt || lastRank >= f.sessions[i].ExitAt) {
		path := f.kept(pathOf(p[fieldURL].value()))
		s.Entry, s.EntryAt, s.Exit, s.ExitAt = path, rank, path, lastRank
	}
	if p[fieldCountry].isSet && (!known || at <= f.sessions[i].CountryAt) {
		s.Country, s.CountryAt = f.kept(p[fieldCountry].value()), at
	}
	if known {
		f.sessions[i].merge(&s)
		return nil
	}
	if f.at == nil {
		f.at, f.texts = map[uuid.UUID]int32{}, map[string]string{}
	}
	f.at[id] = int32(len(f.sessions))
	f.sessions = append(f.sessions, s)
	if len(f.sessions) >= cmp.Or(f.most, maxInMemory) || f.bytes >= maxText {
		return f.spill()
	}
	return nil
}

// kept returns a copy of a text, the same one for equal texts.
func (f *webFold) kept(text string) string {
	text = text[:min(len(text), longestPath)]
	if same, known := f.texts[text]; known {
		return same
	}
	text = strings.Clone(text)
	if f.texts == nil {
		f.texts = map[string]string{}
	}
	f.texts[text] = text
	f.bytes += len(text)
	return text
}

// spill writes the sessions in memory to disk.
func (f *webFold) spill() (err error) {
	if f.sorter == nil {
		if f.dir, err = newTempFolder("hogapi-web-"); err != nil {
			return err
		}
		if f.sorter, err = f.dir.sorter("sessions", webKey, foldMemory); err != nil {
			return err
		}
	}
	for i := range f.sessions {
		if err := put(f.sorter, f.sessions[i].append); err != nil {
			return err
		}
	}
	clear(f.at)
	clear(f.texts)
	f.sessions, f.bytes = f.sessions[:0], 0
	return nil
}

// each calls see with each session, in the order of their ids.
func (f *webFold) each(ctx context.Context, see func(*webSession)) error {
	if f.sorter == nil {
		slices.SortFunc(f.sessions, func(a, b webSession) int { return bytes.Compare(a.ID[:], b.ID[:]) })
		for i := range f.sessions {
			see(&f.sessions[i])
		}
		return context.Cause(ctx)
	}
	if err := errors.Join(f.spill(), f.sorter.Finish(ctx, nil)); err != nil {
		return err
	}
	var last *webSession
	err := f.sorter.Read(0, func(item []byte, _ int64) bool {
		if ctx.Err() != nil {
			return false
		}
		var s webSession
		s.read(item)
		switch {
		case last == nil:
			last = &s
		case last.ID == s.ID:
			last.merge(&s)
		default:
			see(last)
			last = &s
		}
		return true
	})
	if err := errors.Join(err, context.Cause(ctx)); err != nil {
		return err
	}
	if last != nil {
		see(last)
	}
	return nil
}

func (f *webFold) close() (err error) {
	if f.dir != nil {
		err = f.dir.remove()
	}
	*f = webFold{most: f.most}
	return err
}

// pathOf returns the path of a URL as the function path of ClickHouse does.
func pathOf(url string) string {
	slash := strings.IndexByte(url, '/')
	if slash >= 0 && strings.HasPrefix(url[slash:], "//") {
		url = url[slash+2:]
		slash = strings.IndexByte(url, '/')
	}
	if slash < 0 {
		return ""
	}
	url = url[slash:]
	if end := strings.IndexAny(url, "?#"); end >= 0 {
		url = url[:end]
	}
	return url
}
