// Package flows has tests of whole flows: the public API against hogapitest, over virtual or real clocks.
package flows_test

import (
	"testing"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// raceDetector tells that everything takes some ten times as long, and several times the memory.
var raceDetector bool

// uuidAt is the uuid that an import of this id derives for the first event at a position.
func uuidAt(p hogapi.Position, importID string) uuid.UUID {
	return wire.NewIdentity(importID).At(p, 0)
}
