// Package queue has a test of a Capture that reads an at-least-once queue: a NATS JetStream server in the test's process,
// and programs that are killed.
package queue
