package page

// Identity is how the events of files name persons before and after the login.
type Identity struct {
	Before int64 // records of a device, as Mixpanel's projects with simplified ID merge have them
	Both   int64 // events that name a person and the id that it had before the login
	Device bool  // --device-prefix was given
}

// NeedsPrefix reports whether the ids of devices need their prefix, so that links meet the records before the login.
func (i Identity) NeedsPrefix() bool { return i.Both > 0 && i.Before > 0 && !i.Device }

// NeedsLinks reports whether there are ids to join.
func (i Identity) NeedsLinks() bool { return i.Both > 0 }

// Title is what was found; empty, nothing was.
func (i Identity) Title() string {
	switch {
	case !i.NeedsLinks():
		return ""
	case i.Before > 0:
		return plural(i.Before, "record is", "records are") + " from before login"
	}
	return plural(i.Both, "event names", "events name") + " a person and the id used before login"
}

// Text is what to do about it.
func (i Identity) Text() string {
	switch {
	case i.NeedsPrefix():
		return "Add --device-prefix --links, or each person appears twice: as a device, and as a user. " +
			plural(i.Both, "other record names", "other records name") + " both, by which the two are joined."
	case i.Before > 0:
		return "Import with --links, or each person appears twice: as a device, and as a user. " +
			plural(i.Both, "other record names", "other records name") + " both, by which the two are joined."
	}
	return "Import with --links to join the two first. Without it, events from before login stay with another person."
}
