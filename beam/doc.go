// Package hogbeam imports past events with [Apache Beam], for histories that are in thousands of files or in a warehouse, on the
// engine that already runs there: Flink, Spark, Dataflow, or this machine.
//
//	p, s := beam.NewPipelineWithRoot()
//	events := hogbeam.ReadJSONLines(s, "history/*.jsonl.gz")
//	written := hogbeam.WriteHistorical(s, hogbeam.Options{
//		ID:      "mixpanel-2024",
//		Service: hogbeam.Service{Region: hogapi.RegionUS, ProjectKey: hogbeam.SecretRef{Env: "POSTHOG_PROJECT_API_KEY"}},
//	}, events)
//	textio.Write(s, "rejects.jsonl", beam.ParDo(s, line, written.Rejects)) // line is a function of your own
//	err := beamx.Run(ctx, p)
//
// The README has this as a whole program.
//
// [WriteHistorical] keeps the promise of [hogapi.Client.Import]: each event is acknowledged at least once and identical every time it is
// sent, none is skipped, all are accounted for. What differs: there is no checkpoint. A job that failed is run again as a whole and sends
// everything again, with the same uuids, which the service collapses. docs/scale.md says how to divide an import so that this costs
// little, how to run it on each engine, and when one machine is enough.
//
// The service's documented rate is the ceiling for all machines together. More of them mean more sources and more safety, not more speed.
//
// [Apache Beam]: https://beam.apache.org
package hogbeam
