package formats

import (
	"sync"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/inside"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// webFeed gives events to a WebAnalytics in a goroutine of its own, so that a check uses a second processor.
type webFeed struct {
	mu          sync.Mutex // of to, until the end
	to          *WebAnalytics
	batch       *webBatch
	full, empty chan *webBatch
	running     sync.WaitGroup
}

// webBatch has copies of events: the source may use the room of their properties again.
type webBatch struct {
	events []hogapi.Event
	views  []jsonb.View // of the properties of each event, where they were noted
	ends   []int        // of the properties of each event, in room
	room   []byte
}

const (
	webBatches     = 4
	webBatchEvents = 256
	webBatchBytes  = 1 << 20
)

func newWebFeed(to *WebAnalytics) *webFeed {
	f := &webFeed{to: to, batch: &webBatch{}, full: make(chan *webBatch, webBatches), empty: make(chan *webBatch, webBatches)}
	for range webBatches - 1 {
		f.empty <- &webBatch{}
	}
	f.running.Go(f.run)
	return f
}

func (f *webFeed) run() {
	for b := range f.full {
		begin := 0
		f.mu.Lock()
		for i := range b.events {
			ev := &b.events[i]
			ev.RawProperties = b.room[begin:b.ends[i]]
			view := &b.views[i]
			if !view.IsEmpty() {
				view.Move(ev.RawProperties)
			}
			begin = b.ends[i]
			f.to.add(ev, view)
		}
		f.mu.Unlock()
		clear(b.events)
		b.events, b.ends, b.room = b.events[:0], b.ends[:0], b.room[:0]
		f.empty <- b
	}
}

// add hands over a copy of an event. It counts an event with a map at once, since the owner may change the map later.
func (f *webFeed) add(ev *hogapi.Event) {
	if len(ev.Properties) > 0 {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.to.Add(ev)
		return
	}
	b := f.batch
	if len(b.events) == len(b.views) {
		b.views = append(b.views, jsonb.View{})
	}
	ev.Inside(inside.Key{}).Parts.PropertiesOf(ev.RawProperties).CopyTo(&b.views[len(b.events)])
	b.events = append(b.events, *ev)
	b.room = append(b.room, ev.RawProperties...)
	b.ends = append(b.ends, len(b.room))
	if len(b.events) == webBatchEvents || len(b.room) >= webBatchBytes {
		f.full <- b
		f.batch = <-f.empty
	}
}

// end waits until all events are counted.
func (f *webFeed) end() {
	f.full <- f.batch
	close(f.full)
	f.running.Wait()
}
