package proof_test

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/internal/uuidsum"
)

// K6. Random programs of events, flushes, crashes, resumptions and faults run against a model of the right result of each event. The
// ledger of the fake is the second witness. This file is the model; the programs are in model_…_test.go.

// modelEvent is an event and its expected result.
type modelEvent struct {
	hogapi.Event

	id     uuid.UUID
	wire   string          // the beginning of the stored bytes
	reason hogapi.Reason   // of a reject; empty for an event that is stored
	status int             // of the answer that rejects it
	place  hogapi.Position // of its record
}

// model is the events of a source, and with them the expected result of an import.
type model struct {
	events  []modelEvent
	records []int // where each record ends
}

const modelID = "model"

// newModel makes n events: of a few persons, some in one record, some with their own uuids, some bad, some rejected by the service. If
// pushed is set, some have no position.
func newModel(random *rand.Rand, n int, pushed bool) *model {
	m := &model{}
	persons, crowd := 1+random.IntN(12), 1+random.IntN(30)
	placeless := pushed && random.IntN(2) == 0
	for offset := int64(1); len(m.events) < n; offset += 1 + random.Int64N(3) {
		size := 1
		if random.IntN(5) == 0 {
			size += random.IntN(crowd)
		}
		var record []hogapi.Position // the position of each of its events, as given
		place := hogapi.Position{}
		for range min(size, n-len(m.events)) {
			at := hogapi.Position{Key: "rows", Offset: offset}
			if placeless && random.IntN(3) == 0 {
				at = hogapi.Position{}
			} else {
				place = at
			}
			record = append(record, at)
		}
		for number, at := range record {
			m.events = append(m.events, randomEvent(random, len(m.events), "person-"+strconv.Itoa(random.IntN(persons)), at, place, number))
		}
		m.records = append(m.records, len(m.events))
	}
	return m
}

func randomEvent(random *rand.Rand, i int, person string, at, place hogapi.Position, number int) modelEvent {
	e := modelEvent{place: place, Event: hogapi.Event{
		Name: []string{"opened", "ordered", "paid"}[random.IntN(3)], DistinctID: person, Position: at,
		Timestamp: testevents.LongAgo.Add(time.Duration(random.Int64N(int64(72 * time.Hour)))).In(time.FixedZone("", 3600*random.IntN(3))),
	}}
	members := ""
	switch random.IntN(3) {
	case 0:
		e.Properties, members = map[string]any{"n": i}, fmt.Sprintf(`"n":%d,`, i)
	case 1:
		members = fmt.Sprintf(`"n":%d.10, "t" : "\u00e9é"`, i)
		e.RawProperties = json.RawMessage("{" + members + "}")
		members += ","
	}
	switch random.IntN(30) {
	case 0:
		e.Name, e.reason = "", event.ReasonNoName
	case 1:
		e.DistinctID, e.reason = "", event.ReasonNoDistinctID
	case 2:
		e.Event, e.reason = event.Bad(at, []byte("\xffno event"), os.ErrInvalid), event.ReasonBadRecord
	case 3:
		e.Name, e.reason, e.status = "poison", event.ReasonAnswer400, http.StatusBadRequest
	case 4:
		e.Name, e.reason, e.status = "too large", event.ReasonAnswer413, http.StatusRequestEntityTooLarge
	}
	if !place.IsZero() {
		e.id = derivedUUID(modelID, place, number)
	}
	if (random.IntN(3) == 0 || place.IsZero()) && e.reason != event.ReasonBadRecord {
		e.id = testevents.ID(i)
		e.UUID = e.id
	}
	e.wire = fmt.Sprintf(`{"uuid":"%s","event":"%s","timestamp":"%s","distinct_id":"%s","properties":{"distinct_id":"%[4]s",%s"$lib":"hogapi-go",`,
		e.id, e.Name, e.Timestamp.UTC().Format(time.RFC3339Nano), e.DistinctID, members)
	return e
}

// derivedUUID returns the uuid of an event that has no uuid of its own, computed a second time from the definition.
func derivedUUID(importID string, p hogapi.Position, number int) (id uuid.UUID) {
	space := uuid.MustParse("5a2f9d0c-3f6b-5d1e-9c53-6f0a4be0c1d7")
	inner := sha1.Sum([]byte(string(space[:]) + importID))
	name := binary.BigEndian.AppendUint64(append(inner[:], 'p'), uint64(len(p.Key)))
	name = binary.BigEndian.AppendUint64(append(name, p.Key...), uint64(p.Offset))
	sum := sha1.Sum(binary.BigEndian.AppendUint64(name, uint64(number)))
	copy(id[:], sum[:])
	id[6], id[8] = id[6]&0x0f|0x50, id[8]&0x3f|0x80
	return id
}

// behind returns the index after the last event of the record at or before a position.
func (m *model) behind(p hogapi.Position) (n int) {
	for i, e := range m.events {
		if !e.place.IsZero() && e.place.Offset <= p.Offset {
			n = i + 1
		}
	}
	return n
}

func (m *model) end(i int) int {
	return m.records[slices.IndexFunc(m.records, func(end int) bool { return end > i })]
}

// place returns the position of a checkpoint after the first n events are settled.
func (m *model) place(n int) (p hogapi.Position) {
	if n > 0 {
		p = m.events[n-1].place
	}
	return p
}

// receipt returns the expected receipt after the first n events are settled, without the fields that depend on the run.
func (m *model) receipt(n int) hogapi.Receipt {
	r := hogapi.Receipt{ID: modelID, Source: "model", Read: int64(n), Days: []event.DayCount{}, Rejects: map[hogapi.Reason]int64{}, Skips: map[string]int64{}}
	var ids []uuid.UUID
	days := map[hogapitest.EventDay]*event.DayCount{}
	sent := map[hogapitest.EventDay][]uuid.UUID{}
	for i, e := range m.events[:n] {
		if i == 0 {
			r.First = e.place
		}
		r.Last = e.place
		at := e.Timestamp.UTC()
		line := hogapitest.EventDay{Event: e.Name, Day: at.Format(time.DateOnly)}
		if e.reason == event.ReasonBadRecord {
			line.Day = "" // it has neither
		}
		if days[line] == nil {
			days[line] = &event.DayCount{Day: line.Day, Event: line.Event}
		}
		switch {
		case e.reason == "":
			r.Acknowledged++
			ids = append(ids, e.id)
			days[line].Acknowledged++
			sent[line] = append(sent[line], e.id)
			if r.Oldest.IsZero() || at.Before(r.Oldest) {
				r.Oldest = at
			}
			if at.After(r.Newest) {
				r.Newest = at
			}
		default:
			days[line].Rejected++
			r.Rejected++
			r.Rejects[e.reason]++
		}
	}
	for line, d := range days {
		d.Digest = rowDigest(sent[line])
		r.Days = append(r.Days, *d)
	}
	slices.SortFunc(r.Days, func(a, b event.DayCount) int { return strings.Compare(a.Day+" "+a.Event, b.Day+" "+b.Event) })
	r.Digest = digestOf(ids)
	return r
}

// rowDigest returns the digest of a row, computed a second time from the texts of its uuids.
func rowDigest(ids []uuid.UUID) string {
	if len(ids) == 0 {
		return ""
	}
	var high, low, hashes uint64
	for _, id := range ids {
		hash, _ := uuidsum.City([]byte(id.String())) // compared with ClickHouse's own elsewhere
		hashes += hash
		digits := strings.ReplaceAll(id.String(), "-", "")
		h, _ := strconv.ParseUint(digits[16:24], 16, 64)
		l, _ := strconv.ParseUint(digits[24:], 16, 64)
		high, low = high+h, low+l
	}
	return fmt.Sprintf("%d-%d-%d-%d", len(ids), high, low, hashes)
}

// digestOf returns the digest of a receipt, computed a second time: the sum of the uuids as numbers of 128 bits.
func digestOf(ids []uuid.UUID) string {
	var high, low, carry uint64
	for _, id := range ids {
		low, carry = bits.Add64(low, binary.BigEndian.Uint64(id[8:]), 0)
		high, _ = bits.Add64(high, binary.BigEndian.Uint64(id[:8]), carry)
	}
	return hex.EncodeToString(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, high), low))
}

// fixed returns a receipt without the fields that depend on the run, with its times in UTC.
func fixed(r hogapi.Receipt) hogapi.Receipt {
	r.Resent, r.ResentAtLeast, r.Warnings = 0, false, nil
	r.Oldest, r.Newest = r.Oldest.UTC(), r.Newest.UTC()
	r.LastAcknowledged, r.Protocol, r.Finished = time.Time{}, "", false // these depend on the wall clock and on the server
	return r
}

// stored returns the uuids that the ledger must have after the first n events are settled, in the order of the source.
func (m *model) stored(n int) (ids []uuid.UUID) {
	for _, e := range m.events[:n] {
		if e.reason == "" {
			ids = append(ids, e.id)
		}
	}
	return ids
}

// modelReject is a reject as the handler must get it.
type modelReject struct {
	Position hogapi.Position
	Reason   hogapi.Reason
	Status   int
	UUID     uuid.UUID
}

func (m *model) rejects(n int) (all []modelReject) {
	for _, e := range m.events[:n] {
		if e.reason != "" {
			all = append(all, modelReject{e.place, e.reason, e.status, e.id})
		}
	}
	return all
}

// requireLedger requires that every commit is one of the first n events with the right bytes, that no event is missing, and that each
// person's events are in order.
func (m *model) requireLedger(t *testing.T, server *hogapitest.Server, n int) {
	t.Helper()
	ledger := server.Ledger()
	wires := map[uuid.UUID]string{}
	for _, e := range m.events[:n] {
		if e.reason == "" {
			wires[e.id] = e.wire
		}
	}
	for e := range ledger.Events() {
		want, known := wires[e.UUID]
		require.True(t, known, "an event that nobody sent: %s", e.Raw)
		require.Equal(t, want, string(e.Raw[:min(len(want), len(e.Raw))]))
		require.True(t, e.Historical)
	}
	ids := m.stored(n)
	require.Empty(t, ledger.Missing(ids), "lost")
	require.Empty(t, ledger.Changed())
	require.Zero(t, ledger.Inversions(ids), "order per person by the last commit")
	require.Empty(t, ledger.Dropped())
	for _, r := range ledger.Requests() {
		require.True(t, r.Historical)
	}
}

func modelServer(random *rand.Rand) *hogapitest.Server {
	var options []hogapitest.Option
	if random.IntN(4) == 0 {
		options = append(options, hogapitest.WithMaxBatchEvents(1+random.IntN(20)))
	}
	server := hogapitest.New(append(options, hogapitest.WithoutV1())...)
	server.RejectEvents(func(raw json.RawMessage) int {
		switch _, rest, _ := strings.Cut(string(raw), `"event":"`); {
		case strings.HasPrefix(rest, "poison"):
			return http.StatusBadRequest
		case strings.HasPrefix(rest, "too large"):
			return http.StatusRequestEntityTooLarge
		}
		return 0
	})
	return server
}

func modelFaults(random *rand.Rand) (faults []hogapitest.Fault) {
	slowly := func() time.Duration { return time.Duration(random.IntN(3000)) * time.Millisecond }
	for range 1 + random.IntN(3) {
		all := append(slices.Clone(everyFault), hogapitest.CutHeader(), hogapitest.Status(503), hogapitest.PartialCommit(-1, 500),
			hogapitest.Slow(slowly()), hogapitest.Slow(slowly(), hogapitest.CutAfter()), hogapitest.SlowAnswer(slowly()),
			hogapitest.SlowAnswer(slowly(), hogapitest.PartialCommit(2, 503)))
		faults = append(faults, all[random.IntN(len(all))])
	}
	return faults
}

func modelDelivery(random *rand.Rand) hogapi.DeliveryOptions {
	d := hogapi.DeliveryOptions{
		Compression: []hogapi.Compression{hogapi.CompressionGzip, hogapi.CompressionNone, hogapi.CompressionNone, hogapi.CompressionNone}[random.IntN(4)],
		Tuning:      hogapi.Tuning{Lanes: 1 + random.IntN(8), MaxBatchEvents: 1 + random.IntN(30), MaxInFlight: 1 + random.IntN(120), Linger: time.Duration(1+random.IntN(500)) * time.Millisecond},
	}
	return d
}

// eachSeed runs a program for each of many seeds, each in a synctest bubble of its own, on all processors. HOGAPI_SEED repeats one seed.
func eachSeed(t *testing.T, programs int, run func(t *testing.T, random *rand.Rand)) {
	try := func(t *testing.T, seed int) {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d; the same program again, whose goroutines may take other turns: HOGAPI_SEED=%[1]d go test -run '^%s$' -count 20 ./internal/proof",
						seed, strings.Split(t.Name(), "/")[0])
				}
			}()
			run(t, rand.New(rand.NewPCG(uint64(seed), 6)))
		})
	}
	if text := os.Getenv("HOGAPI_SEED"); text != "" {
		seed, err := strconv.Atoi(text)
		require.NoError(t, err)
		try(t, seed)
		return
	}
	const workers = 2
	if raceDetector {
		programs /= 10
	}
	for worker := range workers {
		t.Run(strconv.Itoa(worker), func(t *testing.T) {
			t.Parallel()
			for seed := worker; seed < programs; seed += workers {
				try(t, seed)
				if !assert.False(t, t.Failed()) {
					return
				}
			}
		})
	}
}
