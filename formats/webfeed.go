package formats

import (
	"encoding/json"
	"maps"

	"github.com/hogapi/hogapi"
)

// webFeed gives events to a WebAnalytics in a goroutine of its own, so that a check uses a second processor.
type webFeed struct {
	to          *WebAnalytics
	batch       *webBatch
	full, empty chan *webBatch
	done        chan struct{}
}

// webBatch has copies of events: the source may use the room of their properties again.
type webBatch struct {
	events []hogapi.Event
	ends   []int // of the properties of each event, in room
	room   []byte
}

const (
	webBatches     = 4
	webBatchEvents = 256
	webBatchBytes  = 1 << 20
)

func newWebFeed(to *WebAnalytics) *webFeed {
	f := &webFeed{to: to, batch: &webBatch{}, full: make(chan *webBatch, webBatches), empty: make(chan *webBatch, webBatches), done: make(chan struct{})}
	for range webBatches - 1 {
		f.empty <- &webBatch{}
	}
	go f.run()
	return f
}

func (f *webFeed) run() {
	defer close(f.done)
	for b := range f.full {
		begin := 0
		for i := range b.events {
			ev := &b.events[i]
			ev.RawProperties = b.room[begin:b.ends[i]]
			begin = b.ends[i]
			f.to.Add(ev)
		}
		clear(b.events)
		f.empty <- &webBatch{events: b.events[:0], ends: b.ends[:0], room: b.room[:0]}
	}
}

// add hands over a copy of an event. Maps of properties become JSON, since their owner may change them.
func (f *webFeed) add(ev *hogapi.Event) {
	b := f.batch
	b.events = append(b.events, *ev)
	if of := &b.events[len(b.events)-1]; len(ev.Properties) == 0 {
		b.room = append(b.room, ev.RawProperties...)
	} else {
		b.room = append(b.room, allProperties(ev)...)
		of.Properties = nil
	}
	b.ends = append(b.ends, len(b.room))
	if len(b.events) == webBatchEvents || len(b.room) >= webBatchBytes {
		f.full <- b
		f.batch = <-f.empty
	}
}

// allProperties returns all properties of an event. If a value has no JSON, it returns the raw ones: the import
// rejects such an event.
func allProperties(ev *hogapi.Event) []byte {
	all := map[string]any{}
	if len(ev.RawProperties) > 0 {
		raw := map[string]json.RawMessage{}
		if json.Unmarshal(ev.RawProperties, &raw) == nil {
			for name, value := range raw {
				all[name] = value
			}
		}
	}
	maps.Copy(all, ev.Properties)
	text, err := json.Marshal(all)
	if err != nil {
		return ev.RawProperties
	}
	return text
}

// end waits until all events are counted.
func (f *webFeed) end() {
	f.full <- f.batch
	close(f.full)
	<-f.done
}
