// Package proof has only tests, which show that an import keeps its promises under all conditions: the process
// is killed, frozen and measured; the disk loses power; the service fails, refuses and lies; the caller's
// functions fail, panic and block; and random programs run against a model of the correct result.
//
// The tests use the public API and internal/testevents. Proofs that need unexported names are in the root package,
// and proofs that need other programs are in test.
package proof
