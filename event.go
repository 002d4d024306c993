package hogapi

import (
	"time"

	"github.com/hogapi/hogapi/event"
)

// The nouns of package event that a program with a Capture needs; event has the others.
type (
	// Event is one past event: see [event.Event].
	Event = event.Event

	// Position is a position in a source: see [event.Position].
	Position = event.Position

	// Protocol is the way in which events are sent: see [event.Protocol].
	Protocol = event.Protocol

	// PersonPolicy controls the person properties in the events of an import: see [event.PersonPolicy].
	PersonPolicy = event.PersonPolicy

	// Receipt accounts for each event: see [event.Receipt].
	Receipt = event.Receipt

	// Stats is a snapshot of a running import: see [event.Stats].
	Stats = event.Stats

	// Reject is an event that was refused: see [event.Reject].
	Reject = event.Reject

	// Reason is why an event was refused: see [event.Reason].
	Reason = event.Reason

	// Warning is a fact to look at, although the event is sent: see [event.Warning].
	Warning = event.Warning

	// StopError is the error of an import or a Capture that has stopped: see [event.StopError].
	StopError = event.StopError

	// StopReason is why an import or a Capture has stopped: see [event.StopReason].
	StopReason = event.StopReason
)

// The protocols.
const (
	ProtocolAuto  = event.ProtocolAuto  // capture v1 if the server has it, otherwise /batch/; asked once before the first event
	ProtocolV1    = event.ProtocolV1    // POST /i/v1/analytics/events: the answer names the fate of each event
	ProtocolBatch = event.ProtocolBatch // POST /batch/: one answer for all events of a request
)

// The policies for person properties.
const (
	PersonPolicyKeep    = event.PersonPolicyKeep    // $set is sent as it is: the values that arrive last win
	PersonPolicySetOnce = event.PersonPolicySetOnce // $set becomes $set_once: only values that a person lacks are set
	PersonPolicyStrip   = event.PersonPolicyStrip   // only identity events keep $set and $set_once
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

// Identify returns an event that sets person properties: see [event.Identify].
func Identify(distinctID string, at time.Time, set map[string]any) Event {
	return event.Identify(distinctID, at, set)
}

// GroupIdentify returns an event that sets properties of a group, such as the company "acme".
func GroupIdentify(groupType, groupKey string, at time.Time, set map[string]any) Event {
	return event.GroupIdentify(groupType, groupKey, at, set)
}
