// Package proof tests github.com/hogapi/hogapi/temporal on a real Temporal server.
package proof
