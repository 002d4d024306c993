package main

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hogapi/hogapi"
)

// trail is the order in which records were enqueued. OnSettled names only the newest position, and the
// records before it may be of other partitions. The trail has as many steps as the Capture holds
// records.
type trail struct {
	mu    sync.Mutex
	steps []step
}

type step struct {
	at        hogapi.Position
	topic     string
	partition int32
	next      kgo.EpochOffset // to commit
}

func (t *trail) add(r *kgo.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := kgo.EpochOffset{Epoch: r.LeaderEpoch, Offset: r.Offset + 1}
	t.steps = append(t.steps, step{positionOf(r), r.Topic, r.Partition, next})
}

// settled removes the steps up to a position and returns the newest offset of each of their partitions.
func (t *trail) settled(upTo hogapi.Position) map[string]map[int32]kgo.EpochOffset {
	t.mu.Lock()
	defer t.mu.Unlock()
	offsets := map[string]map[int32]kgo.EpochOffset{}
	for i, s := range t.steps {
		if offsets[s.topic] == nil {
			offsets[s.topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[s.topic][s.partition] = s.next
		if s.at == upTo {
			t.steps = t.steps[i+1:]
			return offsets
		}
	}
	return nil // not a position of this trail: nothing may be committed
}
