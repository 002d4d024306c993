package cli

import (
	"time"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/formats/mixpanel"
)

// zoneWarning explains times of an export that do not fit the zone, with advice. It is empty if
// they fit, or if the user gave the zone and nothing speaks against it.
func zoneWarning(t *mixpanel.ZoneTest, zone string) string {
	if t == nil || t.Records == 0 {
		return ""
	}
	clock, err := time.LoadLocation(zone)
	switch {
	case err != nil, t.Live > 0 && t.Share(clock) > 0.5, t.Live == 0 && zone != "":
		return ""
	case t.Live == 0:
		return "the time zone could not be tested, since no record has the time of Mixpanel's servers. Projects made before 2023 export " +
			"local time: if this is one, stop, and add --zone with the zone of its settings."
	}
	text := misfit(t, clock) + ". "
	if best := page.BestZone(t); best != "" {
		return text + "The clocks of " + best + " fit: stop, and add --zone " + best + ", or another zone with these clocks."
	}
	return text + "Stop, and give the zone of the project's settings in Mixpanel with --zone."
}

func misfit(t *mixpanel.ZoneTest, clock *time.Location) string {
	text := "the times do not fit " + clock.String()
	if t.IsLocal() && clock == time.UTC {
		text = "the times look local, not UTC"
	}
	return text + ": most events would be stored at the wrong hour"
}

// zoneFault refuses to send local times as UTC where nobody is asked and --zone says nothing, not even UTC.
func zoneFault(t *mixpanel.ZoneTest, zone string) error {
	if t == nil || zone != "" || !t.IsLocal() {
		return nil
	}
	todo := "give --zone with the zone of the project's settings in Mixpanel"
	if best := page.BestZone(t); best != "" {
		todo = "give --zone " + best + ", which fits, or another zone with these clocks"
	}
	return usageError(misfit(t, time.UTC)+". Nothing was sent", todo+"; or --zone UTC to send the times as they are")
}

func identityAdvice(t *mixpanel.ZoneTest, in *input) string {
	if t == nil || t.Devices == 0 || in.Devices {
		return ""
	}
	flags := "--device-prefix --links"
	if in.Links {
		flags = "--device-prefix"
	}
	return counted(t.Devices, "record") + " are from before login: add " + flags + ", or each person appears twice."
}
