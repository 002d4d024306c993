package hogapi

import (
	"time"

	"github.com/hogapi/hogapi/event"
)

// These are the nouns of package event that a program with a Capture or an import needs.

type (
	// Event is one past event.
	Event          = event.Event
	Position       = event.Position       // a position in a source
	Protocol       = event.Protocol       // the way in which events are sent
	Receipt        = event.Receipt        // what became of each event
	DayCount       = event.DayCount       // the events of one name on one day
	Stats          = event.Stats          // a snapshot of a running import
	Reject         = event.Reject         // an event that was refused
	Reason         = event.Reason         // why an event was refused
	Warning        = event.Warning        // a fact to look at, although the event is sent
	EventError     = event.Error          // the error of an event that was refused
	StopError      = event.StopError      // the error of an import or a Capture that has stopped
	StopReason     = event.StopReason     // why it stopped
	UnsettledError = event.UnsettledError // lists the events that were taken and are not settled
	UnsettledEvent = event.UnsettledEvent // one of them
)

// The protocols.
const (
	ProtocolAuto  = event.ProtocolAuto  // capture v1 if the server has it, otherwise /batch/; asked once before the first event
	ProtocolV1    = event.ProtocolV1    // POST /i/v1/analytics/events: the answer names the fate of each event
	ProtocolBatch = event.ProtocolBatch // POST /batch/: one answer for all events of a request
)

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

// BadEvent returns the event of a record that cannot be converted: see [event.Bad].
func BadEvent(p Position, raw []byte, err error) Event { return event.Bad(p, raw, err) }

// SkippedEvent returns the event of a record that is left out on purpose: see [event.Skip].
func SkippedEvent(p Position, reason string) Event { return event.Skip(p, reason) }

// Identify returns an event that sets person properties: see [event.Identify].
func Identify(distinctID string, at time.Time, set map[string]any) Event {
	return event.Identify(distinctID, at, set)
}

// GroupIdentify returns an event that sets properties of a group, such as the company "acme".
func GroupIdentify(groupType, groupKey string, at time.Time, set map[string]any) Event {
	return event.GroupIdentify(groupType, groupKey, at, set)
}

// Alias returns an event that merges the person alias into the person distinctID. A merge cannot be undone.
func Alias(distinctID, alias string, at time.Time) Event { return event.Alias(distinctID, alias, at) }
