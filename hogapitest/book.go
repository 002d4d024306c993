package hogapitest

import (
	"encoding/binary"
	"hash/maphash"
	"math"
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
	names    interned
}

type interned struct {
	texts  []string
	number map[string]int32
}

func (t *interned) text(s string) int32 {
	n, ok := t.number[s]
	if !ok {
		if t.number == nil {
			t.number = map[string]int32{}
		}
		n = int32(len(t.texts))
		t.texts, t.number[s] = append(t.texts, s), n
	}
	return n
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

func (b *ledgerBook) begin(v *visit, r CaptureRequest, project *Project) {
	r.Number, r.At, r.Protocol = len(b.requests)+1, v.call.At, v.route.protocol.String()
	if project != nil {
		r.Project = project.id
	}
	b.requests = append(b.requests, r)
	v.ledger = r.Number
}

func (b *ledgerBook) commit(request int, e *event, dropped string) {
	if e.minted {
		e.notes |= UUIDMinted
	}
	if dropped != "" {
		d := e.stored()
		d.Request, d.Reason, d.Properties, d.Raw = request, dropped, nil, nil
		b.dropped = append(b.dropped, d)
		return
	}
	b.requests[request-1].Stored++
	b.rows = append(b.rows, row{
		uuid: e.uuid, identity: hashed(e.name, e.distinctID, e.timestamp), content: e.content, distinct: hashed(e.distinctID),
		name: b.names.text(e.name), day: int32(floorDay(e.at)), request: int32(request), notes: e.notes, historical: e.historical,
	})
	if !b.compact {
		b.full = append(b.full, *e)
	}
}

func (b *ledgerBook) settle(request, status int, delivered bool) {
	if request > 0 {
		b.requests[request-1].Status, b.requests[request-1].Delivered = status, delivered
	}
}

// floorDay is the UTC day since 1970.
func floorDay(t time.Time) int64 { return int64(math.Floor(float64(t.Unix()) / 86400)) }
