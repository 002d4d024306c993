package hogapitest

import (
	"encoding/binary"
	"hash/maphash"
	"time"

	"github.com/google/uuid"
)

// row is one commit in the form that is always kept: hashes stand for the bytes.
type row struct {
	uuid       uuid.UUID
	identity   uint64 // event, distinct_id and timestamp, byte for byte
	content    uint64 // properties as JSON
	distinct   uint64
	name       int32
	day        int32 // since 1970
	request    int32
	notes      Note
	historical bool
}

// ledgerBook is the server's side of the ledger. It only ever grows.
type ledgerBook struct {
	compact  bool
	rows     []row
	full     []event
	dropped  []StoredEvent
	requests []CaptureRequest
	names    []string
	nameOf   map[string]int32
}

var seed = maphash.MakeSeed()

// hashed is the hash of some texts one after another; their lengths keep them apart.
func hashed(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, part := range parts {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(part)))
		_, _ = h.Write(n[:])
		_, _ = h.WriteString(part)
	}
	return h.Sum64()
}

// begin opens the record of a request and returns its number.
func (b *ledgerBook) begin(v *visit, r CaptureRequest, project *Project) int {
	r.Number, r.At, r.Protocol = len(b.requests)+1, v.call.At, v.route.protocol.String()
	if project != nil {
		r.Project = project.id
	}
	b.requests = append(b.requests, r)
	v.ledger = r.Number
	return r.Number
}

// commit stores an event, or notes that it was dropped.
func (b *ledgerBook) commit(request int, e *event, dropped string) {
	if e.minted {
		e.notes |= UUIDMinted
	}
	if dropped != "" {
		b.dropped = append(b.dropped, StoredEvent{
			UUID: e.uuid, Event: e.name, DistinctID: e.distinctID, Timestamp: e.timestamp, Time: e.at,
			Historical: e.historical, Notes: e.notes, Request: request, Reason: dropped,
		})
		return
	}
	b.requests[request-1].Stored++
	b.rows = append(b.rows, row{
		uuid: e.uuid, identity: hashed(e.name, e.distinctID, e.timestamp), content: e.content, distinct: hashed(e.distinctID),
		name: b.name(e.name), day: int32(floorDay(e.at)), request: int32(request), notes: e.notes, historical: e.historical,
	})
	if !b.compact {
		b.full = append(b.full, *e)
	}
}

// settle writes down how a request was answered.
func (b *ledgerBook) settle(request, status int, delivered bool) {
	if request > 0 {
		b.requests[request-1].Status, b.requests[request-1].Delivered = status, delivered
	}
}

func (b *ledgerBook) name(s string) int32 {
	if n, ok := b.nameOf[s]; ok {
		return n
	}
	if b.nameOf == nil {
		b.nameOf = map[string]int32{}
	}
	n := int32(len(b.names))
	b.names, b.nameOf[s] = append(b.names, s), n
	return n
}

func floorDay(t time.Time) int64 {
	day := t.Unix() / 86400
	if t.Unix() < 0 && t.Unix()%86400 != 0 {
		day--
	}
	return day
}
