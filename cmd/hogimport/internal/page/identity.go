package page

// Identity is how the events of files name persons before and after the login.
type Identity struct {
	Before int64 // records of a device, as Mixpanel's projects with simplified ID merge have them
	Both   int64 // events that name a person and the id that it had before the login
	Device bool  // --device-prefix was given
	Links  bool  // --links was given
}

// NeedsPrefix reports whether the ids of devices need their prefix, so that links meet the records before the login.
func (i Identity) NeedsPrefix() bool { return i.Both > 0 && i.Before > 0 && !i.Device }

// NeedsLinks reports whether there are ids to join, for which --links was not given.
func (i Identity) NeedsLinks() bool { return i.Both > 0 && !i.Links }

func (i Identity) level() Level {
	switch {
	case !i.NeedsPrefix() && !i.NeedsLinks():
		return Good
	case i.Before > 0:
		return Warn
	}
	return Info
}

// Title names the problem; it is empty if there is no problem.
func (i Identity) Title() string {
	switch {
	case i.Both == 0:
		return ""
	case i.Before > 0:
		return plural(i.Before, "record is", "records are") + " from before login"
	}
	return plural(i.Both, "event names", "events name") + " a person and the id used before login"
}

// Text is the advice: the flags that are missing.
func (i Identity) Text() string {
	if i.Before == 0 {
		if i.NeedsLinks() {
			return "Import with --links to join the two first. Without it, events from before login stay with another person."
		}
		return "--links joins the two first."
	}
	both := plural(i.Both, "other record names", "other records name") + " both, by which the two are joined"
	flags := map[[2]bool]string{{true, true}: "--device-prefix --links", {true, false}: "--device-prefix", {false, true}: "--links"}
	if missing := flags[[2]bool{i.NeedsPrefix(), i.NeedsLinks()}]; missing != "" {
		return "Add " + missing + ", or each person appears twice: as a device, and as a user. " + both + "."
	}
	return both + " (--links)."
}
