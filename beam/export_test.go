package hogbeam

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"github.com/hogapi/hogapi"
)

// SendLane sends one lane of n events, without a runner around it. It returns how many were acknowledged.
func SendLane(ctx context.Context, o Options, n int) (acknowledged int, err error) {
	f := &laneFn{Options: o.withDefaults()}
	i := 0
	padding := make([]byte, 150)
	for j := range padding {
		padding[j] = 'x'
	}
	start := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	next := func(b *[]byte) bool {
		if i == n {
			return false
		}
		at := hogapi.Position{Key: "events.jsonl", Offset: int64(i) + 1}
		ev := Event{
			Name: "page viewed", DistinctID: fmt.Sprintf("person-%d", i%100_000), Timestamp: start.Add(time.Duration(i*7919%n) * time.Second),
			Properties: fmt.Appendf(nil, `{"n":%d,"text":"%s"}`, i, padding), Position: at,
		}
		binary.BigEndian.PutUint64(ev.UUID[:], uint64(i))
		ev.UUID[8] = 0x80
		*b = appendPacked(nil, &ev)
		i++
		return true
	}
	batches := func(r BatchReceipt) { acknowledged += r.Acknowledged }
	rejects := func(r Reject) { fmt.Fprintf(os.Stderr, "rejected: %s\n", r.Line) }
	receipts := func(hogapi.Receipt) {}
	if err := f.ProcessElement(ctx, 0, next, batches, rejects, receipts); err != nil {
		return 0, err
	}
	return acknowledged, f.FinishBundle(ctx, batches, rejects, receipts)
}

// ListOne lists the exports of one project, without a runner around it.
func ListOne(ctx context.Context, service Service, project string) error {
	return (&exportsFn{Service: service}).ProcessElement(ctx, project, func(ProjectExport) {})
}
