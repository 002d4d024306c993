package hogapi

import (
	"cmp"
	"strconv"
	"time"

	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/wire"
)

// GateOptions control the gate, which refuses events before they are sent. The zero value follows the rules of
// the service.
type GateOptions struct {
	// MinAge is the least age of an event. The service treats younger events as live events and bills them. A
	// negative MinAge allows every event, even one in the future. The default is 48 h.
	MinAge time.Duration
	// PersonPolicy controls $set in old events, which could overwrite newer values of a person. The default is
	// PersonPolicyKeep.
	PersonPolicy PersonPolicy
	// NoHeatmaps sends events without heatmap data: it removes $heatmap_data and renames $prev_pageview_pathname
	// to import_prev_pageview_pathname. With such data, the service adds rows to its heatmaps each time an event
	// is sent, so an event that is sent twice counts twice there. The default is false: the data is sent, and the
	// receipt has a warning.
	NoHeatmaps bool
	// AllowMergeDangerously allows the event $merge_dangerously, which permanently merges persons of today, even
	// identified ones. The default is false.
	AllowMergeDangerously bool
}

// PersonPolicy controls the person properties in the events of an import.
type PersonPolicy uint8

const (
	// PersonPolicyKeep sends $set as it is. The values that arrive last win, not the values of the newest event.
	PersonPolicyKeep PersonPolicy = iota
	// PersonPolicySetOnce turns $set into $set_once: only values that a person lacks are set. If an event has
	// both, it keeps the keys of both, with the value of $set for a key that is in both.
	PersonPolicySetOnce
	// PersonPolicyStrip removes $set and $set_once from all but identity events.
	PersonPolicyStrip
)

func (o GateOptions) check(op Op) error {
	policy := strconv.Itoa(int(o.PersonPolicy))
	return refused(op, cmp.Or(
		outgoing.If(outgoing.LacksUnit(o.MinAge), "Gate.MinAge", o.MinAge.String(), outgoing.WantUnit),
		outgoing.If(o.PersonPolicy > PersonPolicyStrip, "Gate.PersonPolicy", policy,
			"PersonPolicyKeep, PersonPolicySetOnce or PersonPolicyStrip"),
	))
}

func (o GateOptions) rules(p wire.Protocol, now func() time.Time) wire.Rules {
	return wire.Rules{
		MinAge: o.MinAge, PersonPolicy: wire.PersonPolicy(o.PersonPolicy), StripHeatmaps: o.NoHeatmaps,
		AllowMergeDangerously: o.AllowMergeDangerously, Protocol: p, Now: now,
	}
}
