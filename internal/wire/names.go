package wire

// Names of events and properties that the service acts on.
const (
	EventIdentify        = "$identify"
	EventAlias           = "$create_alias"
	EventGroupIdentify   = "$groupidentify"
	eventMerge           = "$merge_dangerously"
	eventGroupIdentified = "$group_identify" // the spelling in PostHog's API reference; the service acts on $groupidentify only
)

// Names and values that the service treats specially.
const (
	eventException  = "$exception"
	eventFlagCalled = "$feature_flag_called"
	prefixAI        = "$ai_"
	cookielessID    = "$posthog_cookieless"
	previousPath    = "$prev_pageview_pathname"
	renamedPath     = "import_prev_pageview_pathname" // see Rules.StripHeatmaps
)

// isMerge reports whether events with this name may merge persons.
func isMerge(name string) bool {
	return name == EventIdentify || name == EventAlias || name == eventMerge
}

// isIdentity reports whether events with this name only serve to change persons or groups.
func isIdentity(name string) bool {
	return isMerge(name) || name == EventGroupIdentify || name == "$set"
}
