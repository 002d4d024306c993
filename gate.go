package hogapi

import (
	"cmp"
	"strconv"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/wire"
)

// Reason says why an event was refused before it was sent, or rejected by the service: see [event.Reason].
type Reason = event.Reason

// EventError is the error of an event that the gate refuses or the service has rejected: see [event.Error].
type EventError = event.Error

// StopError is the error of an import or a Capture that has stopped: see [event.StopError].
type StopError = event.StopError

// UnsettledError lists the events that were taken and are not settled: see [event.UnsettledError].
type UnsettledError = event.UnsettledError

// UnsettledEvent is an event that was taken and is not settled: see [event.UnsettledEvent].
type UnsettledEvent = event.UnsettledEvent

// StopReason is the reason why an import stopped: see [event.StopReason].
type StopReason = event.StopReason

// Reasons of a stop.
const (
	StopUnauthorized   = event.StopUnauthorized   // 401: the project key
	StopQuota          = event.StopQuota          // 402, or an answer that lists a quota
	StopForbidden      = event.StopForbidden      // 403
	StopNotFound       = event.StopNotFound       // 404: the capture URL
	StopRedirect       = event.StopRedirect       // 3xx: the capture URL
	StopRefused        = event.StopRefused        // another 4xx or 501, or 400 to everything
	StopNotService     = event.StopNotService     // an answer that the service does not send, from a host that has accepted no event
	StopUnreachable    = event.StopUnreachable    // no connection before the first answer
	StopCertificate    = event.StopCertificate    // the server's certificate is not valid, before the first answer
	StopWrongScheme    = event.StopWrongScheme    // https to a server that speaks http
	StopTLS            = event.StopTLS            // the TLS handshake failed in another way, before the first answer
	StopNoProgress     = event.StopNoProgress     // failures lasted longer than the limit
	StopTooManyRejects = event.StopTooManyRejects // over MaxRejectShare or MaxRejects
	StopRejected       = event.StopRejected       // an event was rejected and there is no handler
	StopHandler        = event.StopHandler        // the reject handler failed
	StopCheckpoint     = event.StopCheckpoint     // the checkpoint could not be saved
	StopSource         = event.StopSource         // the source ended with an error
	StopWrongKey       = event.StopWrongKey       // the preflight: no project has this key
	StopCanceled       = event.StopCanceled       // the context ended
	StopInternal       = event.StopInternal       // a fault of this package
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

// Warning names a fact to look at, although the event is sent: see [event.Warning].
type Warning = event.Warning
