package reconcile

import (
	"context"
	"crypto/md5" //nolint:gosec // every engine has it; it protects nothing
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/queries"
	"github.com/hogapi/hogapi/internal/uuidsum"
)

// Errors by which a [Side] says how the comparison continues. It ends with any other error: a wrong password, or a table
// that is not there, is for a person to correct. The same folder then continues.
var (
	// ErrTooMuch means that a smaller question may have an answer: time or memory ran out, or the answer was too long.
	ErrTooMuch = errors.New("reconcile: too much for one query")
	// ErrCannotTell means that the side has no consistent answer. The rows in question are then [CannotTell].
	ErrCannotTell = errors.New("reconcile: no consistent answer")
	// ErrMaxBytesRead means that the next query would read more than [Options.MaxBytesRead].
	ErrMaxBytesRead = queries.ErrMaxRead
)

// Side is one of the two places to compare. A key is a uuid with the name of the event and the distinct id. All times
// are UTC. One comparison calls a Side from one goroutine.
type Side interface {
	// Name names the side for people, without credentials.
	Name() string
	// Count counts the selected rows, not the keys, of each day, cheaply. Days without rows are absent.
	Count(ctx context.Context, s Selection) ([]DayCount, error)
	// Digest digests the selected rows by bucket. A bucket without rows is absent. Rows that a bucket has of one key, with
	// any time in one Unit of the bucket, count as one key.
	Digest(ctx context.Context, s Selection, by Bucket) ([]Digest, error)
	// List lists the selected keys by hour: one Row for each key and hour, with fewer rows than limit, or ErrTooMuch.
	List(ctx context.Context, s Selection, limit int) ([]Row, error)
}

// Service is the Side of a PostHog project, which knows when a row arrived and which rows an export leaves out.
type Service interface {
	Side
	// LeftOut counts the keys of each day that no export sends.
	LeftOut(ctx context.Context, s Selection) ([]LeftOut, error)
}

// DayCount is a number of rows.
type DayCount struct {
	Day  time.Time `json:"day"` // its beginning, in UTC
	Rows int64     `json:"rows"`
}

// LeftOut are the keys of a day that no export sends.
type LeftOut struct {
	Day        time.Time `json:"day"`
	NeverAsked int64     `json:"never_asked"` // outside the time of every export
	Filtered   int64     `json:"filtered"`    // inside, but left out by the names or the filter of the exports
}

// Bucket is the grouping of a Digest.
type Bucket string

// The buckets.
const (
	ByDay   Bucket = "day"   // a key counts once a day
	ByHour  Bucket = "hour"  // a key counts once an hour
	BySlice Bucket = "slice" // the hour and the last two digits of the uuid; a key counts once an hour
)

// Unit is the time in which several rows of a key count as one key: a day or an hour.
func (b Bucket) Unit() time.Duration {
	if b == ByDay {
		return 24 * time.Hour
	}
	return time.Hour
}

// Part is a time and a slice of uuids.
type Part struct {
	From   time.Time `json:"from"`             // whole hours in UTC
	To     time.Time `json:"to"`               // not included
	Suffix string    `json:"suffix,omitempty"` // the last hexadecimal digits of the uuids, in lower case; empty for all
}

// String returns the part in words.
func (p Part) String() string {
	text := p.From.Format(clock) + " to " + p.To.Format(clock)
	if p.Suffix != "" {
		text += ", uuids that end with " + p.Suffix
	}
	return text
}

const clock = "2006-01-02 15:04"

// Has reports whether a row with this time and uuid is of the part.
func (p Part) Has(at time.Time, id uuid.UUID) bool {
	return !at.Before(p.From) && at.Before(p.To) && (p.Suffix == "" || hasSuffix(id, p.Suffix))
}

func hasSuffix(id uuid.UUID, suffix string) bool {
	text := digits(id)
	return text[len(text)-len(suffix):] == suffix
}

// digits returns the 32 hexadecimal digits of a uuid.
func digits(id uuid.UUID) string { return hex.EncodeToString(id[:]) }

// Selection says which rows are meant: the rows of any of its parts.
type Selection struct {
	Parts []Part `json:"parts"`
	// UUIDs, if not empty, restricts the rows to these uuids. A side that has rows without a time includes them too.
	UUIDs []uuid.UUID `json:"uuids,omitempty"`
	// Doubled lists only keys with more than one row a day, with the beginning of the day for their hour.
	Doubled bool `json:"doubled,omitempty"`
	// Exports leaves only the rows that one of the exports sends. Empty means all rows. Only a [Service] is asked so.
	Exports []Export `json:"-"`

	rows int64 // that the side has on the days of the parts, as far as it could count
}

// wants returns whether a uuid is meant.
func (s Selection) wants() func(uuid.UUID) bool {
	wanted := make(map[uuid.UUID]bool, len(s.UUIDs))
	for _, id := range s.UUIDs {
		wanted[id] = true
	}
	return func(id uuid.UUID) bool { return len(wanted) == 0 || wanted[id] }
}

// Digest stands for a set of keys.
type Digest struct {
	At    time.Time `json:"at"`              // the beginning of the day or hour
	Slice string    `json:"slice,omitempty"` // two digits, for BySlice
	Rows  int64     `json:"rows"`            // rows, with every copy
	Keys  int64     `json:"keys"`            // keys, each once a unit
	// Bad is the number of rows that cannot be compared, since their uuid, name or distinct id is not there or not in
	// its form. They are in Rows only.
	Bad int64 `json:"bad,omitempty"`
	// High and Low are sums over the keys: of the 17th to 24th hexadecimal digit of the uuid, and of the last eight. Text
	// is the sum of the first eight digits of the MD5 of the uuid's 32 digits in lower case, the name and the distinct id,
	// with "|" between them. All wrap at 64 bits.
	High uint64 `json:"high"`
	Low  uint64 `json:"low"`
	Text uint64 `json:"text"`
	// NoText says that the side cannot compute Text. Then names and distinct ids are compared only where uuids differ.
	NoText bool `json:"no_text,omitempty"`
}

// Add adds a key with its number of rows.
func (d *Digest) Add(id uuid.UUID, event, distinctID string, rows int64) {
	sum := uuidsum.Of(id)
	text := md5.Sum([]byte(digits(id) + "|" + event + "|" + distinctID)) //nolint:gosec // see above
	d.Rows += rows
	d.Keys += sum.N
	d.High += sum.High
	d.Low += sum.Low
	d.Text += uint64(binary.BigEndian.Uint32(text[:]))
}

// plus adds another digest.
func (d *Digest) plus(more Digest) {
	d.Rows, d.Keys, d.Bad = d.Rows+more.Rows, d.Keys+more.Keys, d.Bad+more.Bad
	d.High, d.Low, d.Text, d.NoText = d.High+more.High, d.Low+more.Low, d.Text+more.Text, d.NoText || more.NoText
}

// sameIDs reports whether two digests stand for the same keys but for their texts.
func (d Digest) sameIDs(other Digest) bool {
	return d.Keys == other.Keys && d.High == other.High && d.Low == other.Low
}

// differs reports whether two digests stand for different keys, as far as both sides can tell.
func (d Digest) differs(other Digest) bool {
	return !d.sameIDs(other) || !d.NoText && !other.NoText && d.Text != other.Text
}

// Row is a key in one hour.
type Row struct {
	UUID       uuid.UUID `json:"uuid"`
	Event      string    `json:"event"`
	DistinctID string    `json:"distinct_id"`
	Hour       time.Time `json:"hour,omitzero"` // of the timestamp, in UTC; zero if the row has no time
	Rows       int64     `json:"rows"`
	CreatedAt  time.Time `json:"created_at,omitzero"` // when the first copy arrived at the service; zero if not known
}

func (r Row) day() time.Time { return dayOf(r.Hour) }

func dayOf(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour) }
