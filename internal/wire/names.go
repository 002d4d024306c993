package wire

// The events that change persons and groups.
const (
	EventIdentify        = "$identify"
	EventAlias           = "$create_alias"
	EventGroupIdentify   = "$groupidentify"
	eventMerge           = "$merge_dangerously"
	eventGroupIdentified = "$group_identify" // as PostHog's API reference spells it; the service acts on the other
)

// Names and values that the service treats in a way of its own.
const (
	eventException  = "$exception"
	eventFlagCalled = "$feature_flag_called"
	prefixAI        = "$ai_"
	cookielessID    = "$posthog_cookieless"
	previousPath    = "$prev_pageview_pathname"
	renamedPath     = "import_prev_pageview_pathname" // see Rules.StripHeatmaps
)

// isMerge reports whether events of this name merge persons, or can.
func isMerge(name string) bool {
	return name == EventIdentify || name == EventAlias || name == eventMerge
}

// isIdentity reports whether events of this name are there to change persons or groups.
func isIdentity(name string) bool {
	return isMerge(name) || name == EventGroupIdentify || name == "$set"
}
