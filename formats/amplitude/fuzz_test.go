package amplitude_test

import (
	"testing"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/internal/formattest"
)

// FuzzConvert: any record gives the same events every time, however it is spaced.
func FuzzConvert(f *testing.F) {
	formattest.Seeds(f)
	plain, full := amplitude.Format(nil), amplitude.Format(&amplitude.Options{
		KeepSessions: true, Groups: true, KeepAll: true, PersonProperties: formats.PersonSet,
	})
	lines := formattest.Lines(f, "testdata/export.jsonl")
	f.Fuzz(func(t *testing.T, record []byte) {
		formattest.RequireStable(t, full, lines[0], record, lines[1])
		for _, format := range []hogapi.Format{plain, full} {
			formattest.Pure(t, format, record)
			formattest.RequireComplete(t, format, record)
		}
	})
}
