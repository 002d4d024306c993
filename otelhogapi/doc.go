// Package otelhogapi provides hooks for package hogapi that write OpenTelemetry traces and metrics.
//
// [New] takes the program's tracer and meter providers; [Telemetry.Hooks] goes to hogapi.WithHooks,
// [Telemetry.Progress] to history.Options.OnProgress, and [Telemetry.Receipt] takes the result of an import.
//
// # Spans
//
// A hook is called after the event that it reports, so spans are written with their start in the past.
//
//	hogapi OP            internal; a whole call with its waits, such as "hogapi batch_exports.get"
//	METHOD ROUTE         client; each try of a call, such as "GET /batch_exports/{id}/"
//	hogapi import batch  client; each request of an import
//
// The first two are children of the span in the context of the call. Spans of batches are roots, since an import may
// last for days; each has a link to the span in the context of [Telemetry.Hooks].
//
// # Metrics
//
//	http.client.request.duration      s             each try of a call and each request of an import
//	hogapi.call.duration              s             each call, with its waits
//	hogapi.call.retry.wait            s             each wait before another try, by hogapi.retry.reason
//	hogapi.import.batch.events        {event}       events of requests, repeated ones counted again
//	hogapi.import.batch.size          By            their bytes before compression
//	hogapi.import.batch.wire_size     By            their bytes as sent
//	hogapi.import.checkpoint.duration s             each checkpoint
//	hogapi.import.events              {event}       gauge: events of the import, over all its runs, by
//	                                                hogapi.event.state: acknowledged, rejected,
//	                                                unconfirmed, skipped, pending
//	hogapi.import.total               {event}       gauge: history.Options.Total, where it is given
//	hogapi.import.resent              {event}       gauge: events in requests that repeat another one
//	hogapi.import.in_flight           {event}       gauge: events read and not yet committed
//	hogapi.import.memory              By            gauge: bytes of events held
//	hogapi.import.permits             {request}     gauge: requests that may be under way at once
//	hogapi.import.throttled           s             gauge: time spent waiting because the service asked for it
//	hogapi.import.failing             s             gauge: how long nothing gets through; 0 while answers are good
//	hogapi.import.rejects             {event}       gauge, at the end: by hogapi.reject.reason
//
// # Attributes
//
// From the OpenTelemetry semantic conventions for HTTP clients: http.request.method, http.response.status_code,
// http.request.resend_count, error.type, server.address, server.port and url.template. There is no url.full: a URL
// holds ids. No attribute, and no status of a span, holds a key, a body or the text of an error. The package's own
// attributes are hogapi.op, hogapi.call.tries, hogapi.import.id (the ID that the program chose), hogapi.import.lane,
// hogapi.retry.reason, hogapi.event.state and hogapi.reject.reason.
package otelhogapi
