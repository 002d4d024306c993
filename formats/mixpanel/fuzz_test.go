package mixpanel_test

import (
	"testing"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/mixpanel"
)

// FuzzConvert: any record gives the same events every time, however it is spaced.
func FuzzConvert(f *testing.F) {
	formattest.Seeds(f)
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		f.Fatal(err)
	}
	plain, full := mixpanel.Format(nil), mixpanel.Format(&mixpanel.Options{
		Zone: zone, DevicePrefix: true, PersonProperties: formats.PersonSet, KeepDeleted: true, KeepAll: true,
	})
	lines := formattest.Lines(f, "testdata/export.jsonl")
	f.Fuzz(func(t *testing.T, record []byte) {
		formattest.RequireStable(t, full, lines[0], record, lines[1])
		for _, format := range []hogapi.Format{plain, full} {
			formattest.Pure(t, format, record)
			formattest.RequireComplete(t, format, record)
		}
		new(mixpanel.ZoneTest).Add(record)
	})
}
