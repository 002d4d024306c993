package cli

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/reasons"
)

func (c *check) next(p *page.Check, paths []string, found settled, failed bool, other string) []page.Step {
	in := c.in
	isLocal := p.Zone != nil && p.Zone.Live > 0 && p.Zone.Share(p.Clock) < 0.5
	if isLocal {
		in.Zone = cmp.Or(page.BestZone(p.Zone), in.Zone)
	}
	in.Devices = in.Devices || p.People.NeedsPrefix()
	if other != "" {
		in.Format = other
		if !isMapped(in.Format) {
			in.Map, in.Header = nil, nil
		}
	}
	args := commandLine(in)
	if failed {
		text := "Correct the files, or the options that say how they are read. Then check again."
		if isLocal && in.Zone == "" || isWithoutZone(p) {
			text, args = "Say in which zone the times are, such as UTC or US/Pacific. Then check again.", args+" --zone ZONE"
		}
		return []page.Step{{
			Text:    text,
			Command: "hogimport check " + args + givenFlags(c.flags, "max-rejects") + reportAt(cmp.Or(c.report, "report.html"), "check").free(paths),
		}}
	}
	if len(found.begun) > 0 {
		return c.nextOf(found, "hogimport run "+args+givenFlags(c.flags, "host", "rate", "max-rejects"))
	}
	run, why := "hogimport run "+args+givenFlags(c.flags, "host", "rate", "max-rejects"), ""
	if p.NeedsSort() {
		in.Sort = true
		why += " --sort is there because the files are not in order of time."
	}
	if in.Links = in.Links || p.People.NeedsLinks(); in.Links {
		why += " --links joins the ids of each person first."
	}
	run += c.runFlags(&in)
	unknown := ""
	if c.host(&c.project) == "" {
		unknown = ", and us, eu or a URL into POSTHOG_HOST"
	}
	return []page.Step{
		{
			Text: "Optional, and only with a test project: send 1,000 events there, and compare them. " +
				"First put its key into the file test-project.key, and its number into the variable TEST_PROJECT_ID" + unknown + ".",
			// The variable comes last and without quotes: where it is empty, the command ends at once.
			Command: "hogimport trial " + args + givenFlags(c.flags, "host", "personal-key-file") +
				" --project-key @test-project.key --project-id $TEST_PROJECT_ID",
		},
		{Text: "Import. The same command continues after a stop." + why, Command: run},
		{
			Text:    verifyText,
			Command: c.verifyCommand(filepath.Join(stateRoot, stateName(paths))),
		},
	}
}

// isWithoutZone reports whether the first records that make no event have times without an offset.
func isWithoutZone(p *page.Check) bool {
	return slices.ContainsFunc(p.Report.Reasons[reasons.BadRecord].Examples, func(e hogapi.CheckExample) bool {
		return strings.Contains(e.Text, "has no offset: give --zone")
	})
}

const verifyText = "Verify that all events have arrived: right after the import, and again in a few hours if it says that " +
	"events are still arriving."

func (c *check) nextOf(found settled, run string) (steps []page.Step) {
	for _, s := range found.begun {
		is, isVerified := s.is()
		if is != isComplete && is != isRunning && is != isWaiting {
			steps = append(steps, page.Step{
				Text:    "Continue the import. Its flags are kept, except for --max-rejects and --rate: give these two again.",
				Command: "hogimport run --state " + quoted(s.dir) + givenFlags(c.flags, "host", "rate", "max-rejects"),
			})
		}
		if !isVerified {
			steps = append(steps, page.Step{Text: verifyText, Command: c.verifyCommand(s.dir)})
		}
	}
	if len(found.fresh)+len(found.grown) > 0 && len(found.changed) == 0 {
		run += c.runFlags(&found.begun[len(found.begun)-1].kept.Input)
		steps = append(steps, page.Step{Text: "Import what is new. run knows what is imported and leaves it out.", Command: run})
	}
	return steps
}

// runFlags returns the flags of run that a check takes and commandLine leaves out.
func (c *check) runFlags(in *input) (flags string) {
	if flags = in.orderFlags(); !c.canAnswer() {
		flags += " --yes"
	}
	return flags
}

func (c *check) verifyCommand(dir string) string {
	return "hogimport verify --state " + quoted(dir) + givenFlags(c.flags, "host", "project-id", "personal-key-file") + reportAt("verify.html", "verify").free(nil)
}
