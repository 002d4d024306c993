package page_test

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	pages "github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/history"
)

var at = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// hostile are texts that a customer may have, and that must stay texts.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'-alert(1)-'`, `</style><script>alert(1)</script>`, `</title><svg onload=alert(1)>`,
	`javascript:alert(1)`, `{{.}}`, "a\u202egnp.exe", "zero\u200bwidth", "line\nbreak\x00\x1b[31m", "not utf-8 \xff", strings.Repeat("long ", 1000), "", `url(https://evil.example/x)`,
	"phc_0123456789abcdefghijklmnopqrstuv", `--><b>`, `&lt;script&gt;`, `]]>`,
}

// badCheck is a check of which every text is hostile.
func badCheck() page.Check {
	c := page.Check{
		Problem: hostile[0], Files: hostile, Limit: hostile[1], Project: hostile[2], At: at, Version: hostile[3], Zone: &mixpanel.ZoneTest{},
		Next: []shell.Step{{Text: hostile[0], Command: hostile[4]}},
	}
	r := &c.Report
	r.Read, r.Good, r.Rejected, r.Skipped = 100, 50, 30, 20
	r.Oldest, r.Newest, r.OldestLocal, r.NewestLocal, r.Zone, r.Format = at, at, at, at, hostile[0], hostile[1]
	r.Reasons, r.Skips, r.Warnings = map[hogapi.Reason]history.CheckFinding{}, map[string]int64{}, map[hogapi.Warning]history.CheckFinding{}
	web := &formats.WebReport{Events: 10, InSession: 5, Outside: map[string]history.CheckFinding{formats.OutsideNotV7: {Count: 3}}, Types: map[string]formats.PropertyTypes{}}
	web.Total = formats.WebMonth{Sessions: 5, Channels: map[string]int64{}, Countries: map[string]int64{}, Entries: map[string]int64{}}
	for i, text := range hostile {
		web.Total.Channels[text], web.Total.Countries[text], web.Total.Entries[text] = 1, 1, 1
		web.Types[text] = formats.PropertyTypes{Numbers: 9, Texts: 1}
		web.Busy = append(web.Busy, formats.BusyID{DistinctID: text, Events: 6000})
		web.Months = append(web.Months, formats.WebMonth{Month: fmt.Sprintf("2024-%02d", i%12+1), Sessions: 5, Views: 1000})
		c.Exports = append(c.Exports, page.Export{Name: text, Destination: text})
	}
	r.Web, c.ExportsHint = web, hostile[0]
	r.Kept, r.IDs, r.UUIDs = map[string]int64{}, map[string]int64{}, map[string]int64{}
	for i, text := range hostile {
		n := int64(i + 1)
		found := history.CheckFinding{Count: n, Examples: []event.Example{{Position: hogapi.Position{Key: text, Offset: n}, Text: text}}}
		r.Days = append(r.Days, history.CheckCount{Day: "2024-05-" + []string{"01", "02"}[i%2], Event: text, Events: n})
		r.Reasons[hogapi.Reason(text)], r.Warnings[hogapi.Warning(text)], r.Skips[text] = found, found, n
		r.Kept[text], r.IDs[text], r.UUIDs[text], r.DoubleUUIDs = n, n, n, found
		r.Examples = append(r.Examples, formats.Conversion{Before: text, After: []string{text, `{"a":"` + text + `"}`}})
		r.Held = append(r.Held, formats.HeldDay{Day: text, Project: n, Files: n})
	}
	return c
}

func badVerify() page.Verify {
	v := &history.Verification{ID: hostile[0], State: history.VerificationMissing, Uncountable: hostile, Notes: hostile, MissingEvents: 3, MissingIDs: []uuid.UUID{{1}}}
	for i, text := range hostile {
		v.Cells = append(v.Cells, history.VerificationCell{Day: "2024-05-01", Event: text, Acknowledged: int64(i) + 5, Seen: 2, Missing: 3, State: history.VerificationState(text), Reason: text})
		v.Outside = append(v.Outside, history.VerificationCell{Day: text, Event: text, Seen: 1, State: history.VerificationMoved})
		v.Warnings = append(v.Warnings, hogapi.IngestionWarning{Type: text, Count: 2})
	}
	return page.Verify{Verification: v, Receipt: hogapi.Receipt{ID: hostile[1]}, Project: hostile[2], At: at, Version: hostile[3]}
}

// html is a page.
func html(t *testing.T, p interface{ Write(w io.Writer) error }) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	return b.String()
}

// lacks requires that a page does not contain these texts.
func lacks(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		assert.NotContains(t, page, text)
	}
}

var tag = regexp.MustCompile(`<(/?)([a-zA-Z!][a-zA-Z0-9!-]*)([^>]*)>`)

func TestTextsOfACustomerStayTexts(t *testing.T) {
	for name, html := range map[string]string{"check": html(t, badCheck()), "verify": html(t, badVerify())} {
		t.Run(name, func(t *testing.T) {
			known := strings.Fields("!DOCTYPE html head meta title style body main header p b span br section div h1 h2 h3 dl dt dd ul ol li a table thead tbody tr th td " +
				"figure figcaption svg circle path rect line text g bdi small code pre details summary article footer")
			for _, m := range tag.FindAllStringSubmatch(html, -1) {
				require.Contains(t, known, m[2], "an element that the page does not have: %s", m[0])
				require.NotRegexp(t, `(?i)\son[a-z]+\s*=|\sstyle\s*=|\shref="[^#]|\ssrc\s*=`, m[3], m[0])
			}
			if name == "verify" {
				assert.NotContains(t, html, strings.Repeat("long ", 100))
			}
			lacks(t, html, "phc_01234567", "\u202e", "\u200b", "\x00", "\x1b", strings.Repeat("long ", 900))
			lacks(t, html, "ZgotmplZ") // a value where it cannot be
			clitest.Says(t, html, "&lt;script&gt;alert(1)&lt;/script&gt;", "phc_…", `\u202e`)
		})
	}
}

func TestAPageLoadsNothing(t *testing.T) {
	html := html(t, badCheck())
	assert.Regexp(t, `<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;sha256-[^"]+&#39;; base-uri &#39;none&#39;; form-action &#39;none&#39;">`, html)
	lacks(t, html, "<script", "<link")
	assert.NotRegexp(t, `<style>[^<]*(url\(|@import)`, html)
	assert.Less(t, strings.Index(html, "Content-Security-Policy"), strings.Index(html, "<style>"), "the policy comes first")
}

// good is the check of a small import that is all right.
func good() page.Check {
	c := page.Check{Files: []string{"export.jsonl"}, Limit: "1%", Rate: 1000, At: at, Version: "v1"}
	c.Report.Read, c.Report.Good = 1234567, 1234567
	c.Report.Oldest, c.Report.Newest = time.Date(2023, 1, 31, 0, 0, 0, 0, time.UTC), time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	c.Report.Hours, c.Report.Zone = 0.343, "UTC"
	c.Report.Days = []history.CheckCount{{Day: "2023-01-31", Event: "a", Events: 1234560}, {Day: "2024-03-01", Event: "b", Events: 7}}
	return c
}

func TestWhatAPageSaysFirst(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*page.Check)
		level  pages.Level
		title  string
		says   string // in the findings
	}{
		"all is right": {func(*page.Check) {}, pages.Good, "Ready to import", "Nothing is there for 2023-02 and 12 more months: is a file missing?"},
		"a problem":    {func(c *page.Check) { c.Problem = "too many" }, pages.Bad, "Not ready to import", "too many"},
		"rejects":      {func(c *page.Check) { c.Report.Rejected = 5 }, pages.Warn, "Ready, with 1 warning", "5 events would be rejected"},
		"nothing":      {func(c *page.Check) { c.Report = formats.CheckReport{} }, pages.Bad, "There is nothing to import", ""},
		"nothing good": {func(c *page.Check) { c.Report.Good, c.Report.Rejected = 0, 3 }, pages.Bad, "No event can be imported", ""},
		"overlap": {func(c *page.Check) {
			c.Project, c.Report.Held, c.Report.CutFrom = "1", []formats.HeldDay{{Day: "2024-03-01", Project: 3, Files: 7}}, "2024-03-01"
		}, pages.Warn, "Ready, with 1 warning", "--until 2024-03-01"},
		"no common day": {func(c *page.Check) {
			c.Project, c.Report.Held = "1", []formats.HeldDay{{Day: "2024-02-20", Project: 3}}
		}, pages.Good, "Ready to import", "The project has 3 events of others between these days"},
		"a project in use": {func(c *page.Check) { c.Project, c.Later = "1", 3 }, pages.Good, "Ready to import", "With --leave-persons, today's persons stay"},
		"persons left":     {func(c *page.Check) { c.Project, c.Later, c.Leaves = "1", 3, true }, pages.Good, "Ready to import", ""},
		"no overlap":       {func(c *page.Check) { c.Project = "1" }, pages.Good, "Ready to import", ""},
		"conflicts": {func(c *page.Check) {
			c.Report.Warnings = map[hogapi.Warning]history.CheckFinding{event.WarningUUIDConflict: {Count: 1}, event.WarningLib: {Count: 9}}
		}, pages.Warn, "Ready, with 1 warning", "1 event has the uuid of a different event"},
		"ids outside": {func(c *page.Check) {
			c.Report.Web = &formats.WebReport{Events: 5, InSession: 4, Outside: map[string]history.CheckFinding{formats.OutsideNotV7: {Count: 1}, formats.OutsideLate: {Count: 2}}}
		}, pages.Warn, "Ready, with 1 warning", "1 with an id that is not a UUID of version 7, which are in no session; 2 24 hours or more after"},
		"hidden sessions": {func(c *page.Check) { c.Report.Web = &formats.WebReport{Events: 5, InSession: 5, Hidden: 2} }, pages.Warn, "Ready, with 1 warning", "2 sessions will not be found"},
		"busy ids": {func(c *page.Check) {
			c.Report.Web = &formats.WebReport{Events: 5, InSession: 5, Busy: []formats.BusyID{{DistinctID: "all", Events: 7000}}}
		}, pages.Warn, "Ready, with 1 warning", "The busiest is all with 7,000 events"},
		"types": {func(c *page.Check) {
			c.Report.Web = &formats.WebReport{Events: 5, InSession: 5, Types: map[string]formats.PropertyTypes{"revenue": {Numbers: 9, Texts: 1}, "plan": {Texts: 1, Nulls: 3}}}
		}, pages.Good, "Ready to import", "revenue: 90.0 % number, 10.0 % text. PostHog gives"},
		"young":           {func(c *page.Check) { c.Report.Web = &formats.WebReport{Events: 5, InSession: 5, Young: 1} }, pages.Good, "Ready to import", "1 event is less than 48 hours old"},
		"exports":         {func(c *page.Check) { c.Exports = []page.Export{{Name: "daily", Destination: "S3", Interval: "day"}} }, pages.Warn, "Ready, with 1 warning", "1 running batch export sends this history too"},
		"no server times": {func(c *page.Check) { c.Zone = &mixpanel.ZoneTest{} }, pages.Warn, "Ready, with 1 warning", "The time zone could not be tested"},
	} {
		t.Run(name, func(t *testing.T) {
			check := good()
			c.change(&check)
			said, findings := check.Summary()
			assert.Equal(t, c.level, said.Level)
			assert.Equal(t, c.title, said.Title)
			var all []string
			for _, f := range findings {
				all = append(all, f.Title, f.Text)
			}
			assert.Contains(t, strings.Join(all, "\n"), c.says)
			assert.Equal(t, name == "a project in use" || name == "overlap" || name == "no common day", strings.Contains(strings.Join(all, "\n"), "--leave-persons"))
			require.NotEmpty(t, html(t, check))
		})
	}
}

// The page shows the months of web analytics as a chart and a table, and the sessions by channel.
func TestWebAnalyticsOnThePage(t *testing.T) {
	check := good()
	check.Report.Web = &formats.WebReport{Events: 20, InSession: 19, Months: []formats.WebMonth{
		{Month: "2024-01", Visitors: 3, Views: 1500, Sessions: 4, Bounces: 1, AverageSeconds: 75.4}, {Month: "2024-03", Visitors: 1, Views: 2, Sessions: 1},
	}, Total: formats.WebMonth{Sessions: 5, Channels: map[string]int64{"Organic Search": 4, "Direct": 1}, Countries: map[string]int64{"DE": 5}, Entries: map[string]int64{"/pricing": 5}}}
	text := html(t, check)
	clitest.Says(t, text,
		"95.0 % of the events are in a session", "2024-01 · views: 1,500", "2024-02 · sessions: 0", "2024-03 · visitors: 1", "1 min 15 s", "25.0 %", "Organic Search", "80.0 %", "/pricing", "DE",
		`d="M166.7 0.0L500.0 1000.0L833.3 998.7"`) // the line of views
	check.Report.Web = &formats.WebReport{Events: 20}
	clitest.Says(t, html(t, check), "Insights and funnels do not need it.")
	lacks(t, html(t, check), "Sessions by channel")
	check.Report.Web = nil
	lacks(t, html(t, check), "web analytics")
}

func TestWhatAVerificationSaysFirst(t *testing.T) {
	for state, c := range map[history.VerificationState]struct {
		level pages.Level
		title string
	}{
		history.VerificationComplete:            {pages.Good, "Complete: all 1,000 events are in the project"},
		history.VerificationCompleteByCounts:    {pages.Warn, "As many events are there as were sent: 990. The uuids were not compared"},
		history.VerificationUnfinished:          {pages.Warn, "Nothing is missing so far, but the import is not finished"},
		history.VerificationCompleteUnconfirmed: {pages.Warn, "All acknowledged events have arrived; some unconfirmed ones are still open"},
		history.VerificationStillArriving:       {pages.Info, "Still arriving: 10 events are not there yet"},
		history.VerificationUnknown:             {pages.Info, "Whether all events have arrived is not known yet"},
		history.VerificationMoved:               {pages.Warn, "3 events are under another day or name"},
		history.VerificationTooMany:             {pages.Bad, "4 events are there that were not sent"},
		history.VerificationMissing:             {pages.Bad, "1 event is missing"},
		"a state of tomorrow":                   {pages.Info, "Whether all events have arrived is not known yet"},
	} {
		v := &history.Verification{State: state, Acknowledged: 1000, Seen: 990, MissingEvents: 1, MovedEvents: 3, ForeignEvents: 4}
		p := page.Verify{Verification: v}
		assert.Equal(t, c.level, p.Verdict().Level, state)
		assert.Equal(t, c.title, p.Verdict().Title, state)
		require.NotEmpty(t, html(t, p))
	}
}

// The project's events are compared in the periods in which the files were counted.
func TestOverlapOfATableThatWasRolledUp(t *testing.T) {
	for _, c := range []struct{ day, title, row string }{
		{"2024-03-01", "In 1 day both", ">2024-03-01<"}, {"2024-03", "In 1 month both", ">2024-03<"}, {"", "In 1 period both", ">all<"},
	} {
		check := good()
		check.Project = "1"
		check.Report.Days = []history.CheckCount{{Day: c.day, Event: "a", Events: 77}}
		check.Report.Held = []formats.HeldDay{{Day: "2024-03-01", Project: 3}}
		clitest.Says(t, html(t, check), c.title, c.row, `<td class="num">3</td><td class="num">77</td>`)
	}
}

// Events of one uuid are stored once: all is there, and neither is called late.
func TestAVerificationOfEventsWithOneUUID(t *testing.T) {
	v := &history.Verification{
		State: history.VerificationComplete, Acknowledged: 49_662, Seen: 49_432, Copies: 49_432,
		Cells: []history.VerificationCell{
			{Day: "2024-05-01", Event: "a", Acknowledged: 49_000, Seen: 48_770, Doubled: 230, State: history.VerificationComplete},
			{Day: "2024-05-02", Event: "a", Acknowledged: 662, Seen: 662, State: history.VerificationComplete},
		},
	}
	p := page.Verify{Verification: v}
	assert.Equal(t, "Complete: 49,432 different events", p.Verdict().Title)
	assert.Equal(t, "230 of the 49,662 sent have the uuid of another one and are stored once.", p.Verdict().Text)
	said := html(t, p)
	lacks(t, said, "Not there yet", "not found yet</bdi>")
	clitest.Says(t, said, ">Stored once</th>", "<dt>Stored once</dt>")
	v.State, v.Seen, v.Cells[1].Seen, v.Cells[1].State = history.VerificationStillArriving, 49_430, 660, history.VerificationStillArriving
	assert.Equal(t, "Still arriving: 2 events are not there yet", p.Verdict().Title)
}

// A reason is explained once, for any number of days and names.
func TestEqualReasonsAreSaidOnce(t *testing.T) {
	v := &history.Verification{State: history.VerificationMissing, Acknowledged: 3000, Seen: 2900}
	for i := range 300 {
		c := history.VerificationCell{Day: "2024-05-01", Event: "a", Acknowledged: 10, Seen: 9, State: history.VerificationStillArriving, Reason: "the last acknowledgement came 23h45m4.316s ago, and events may take 24h0m0s"}
		if i%3 == 0 {
			c.Reason = strconv.Itoa(i) + " events are not there, and they are unconfirmed ones"
		}
		v.Cells = append(v.Cells, c)
	}
	said := html(t, page.Verify{Verification: v})
	assert.Equal(t, 1, strings.Count(said, "The last acknowledgement came 23 h 45 min ago, and events may take 24 h."))
	assert.Equal(t, 1, strings.Count(said, "Events are not there, and they are unconfirmed ones."))
	v.Cells[1].Reason = "2 looks in 24h0m0s have seen so many: it takes 3 looks over 1h0m0s, with Wait or the same Dir"
	said = html(t, page.Verify{Verification: v})
	clitest.Says(t, said, "2 checks in 24 h have found the same number: it takes 3 checks over 1 h.", "199 days and names: sent 1,990, found 1,791")
	assert.Equal(t, 200, strings.Count(said, `class="cell"`), "of many the first ones")
}

// A number that is not the same as another one is followed by why.
func TestNumbersOfAVerificationAreExplained(t *testing.T) {
	v := &history.Verification{State: history.VerificationComplete, Acknowledged: 49_137, Seen: 48_904, Copies: 49_626}
	v.Cells = []history.VerificationCell{{Day: "2024-05-01", Event: "a", Acknowledged: 49_137, Seen: 48_904, Doubled: 233, State: history.VerificationComplete}}
	said := html(t, page.Verify{Verification: v})
	clitest.Says(t, said, "49,626 copies", "722 surplus copies are stored for now",
		"They come from 233 events that the files have twice, and from events sent again after a stop or a failed request. "+
			"PostHog merges copies in the background; until then a query of its events may count them.")
	lacks(t, said, "can no longer arrive") // of none
	v.State, v.MissingEvents, v.Copies = history.VerificationMissing, 2, 48_904
	said = html(t, page.Verify{Verification: v})
	clitest.Says(t, said, "can no longer arrive")
	lacks(t, said, "surplus copies")
	v.State, v.MissingEvents, v.Copies, v.Seen = history.VerificationComplete, 0, 49_140, 49_137
	v.Cells[0].Seen, v.Cells[0].Doubled = 49_137, 0
	clitest.Says(t, html(t, page.Verify{Verification: v}), "They come from events sent again after a stop or a failed request. PostHog merges")
	v.State, v.Seen = history.VerificationStillArriving, 49_130 // which of them share a uuid was not compared
	clitest.Says(t, html(t, page.Verify{Verification: v}), "They come from events sent again after a stop or a failed request, or that the files have twice. PostHog merges")
}

// Links are sent and counted like events of the files: the page and the table say so.
func TestLinksOfPersonsAreNamed(t *testing.T) {
	v := &history.Verification{State: history.VerificationComplete, Acknowledged: 49_137, Seen: 48_904, Copies: 48_904}
	v.Cells = []history.VerificationCell{{Day: "2024-05-01", Event: "a", Acknowledged: 49_137, Seen: 48_904, Doubled: 233, State: history.VerificationComplete}}
	p := page.Verify{Verification: v, Receipt: hogapi.Receipt{Read: 50_610}, HasLinks: true, LinksRead: 900, Links: 900}
	assert.Equal(t, "Complete: 48,904 different events, 48,004 of the files and 900 links of persons", p.Verdict().Title)
	const said = "They are $identify events, and in the counts of their days. That they are found proves that the project has " +
		"these events; PostHog joins the persons while it processes them, so look at one such person there."
	clitest.Says(t, html(t, p), "<td>50,610: 49,710 records and 900 links of persons</td>", said)

	v.Seen, v.Cells[0].Seen, v.Cells[0].Doubled = 49_137, 49_137, 0
	assert.Equal(t, "Complete: all 49,137 events are in the project, 48,237 of the files and 900 links of persons", p.Verdict().Title)
	p.LinksRead, p.Links = 0, 0 // it is not known how many there are
	assert.Equal(t, "Complete: all 49,137 events are in the project", p.Verdict().Title)
	clitest.Says(t, html(t, p), said, "<td>50,610</td>")
	p.HasLinks = false
	lacks(t, html(t, p), "$identify")
}

// An event that comes twice is stored once: the page says how many events there will be, and how
// many it has counted.
func TestACheckSaysHowManyEventsThereWillBe(t *testing.T) {
	c := good()
	c.Report.DoubleUUIDs.Count = 234
	c.Report.Warnings = map[hogapi.Warning]history.CheckFinding{event.WarningUUIDConflict: {Count: 1}}
	_, findings := c.Summary()
	clitest.Says(t, fmt.Sprint(findings), "233 surplus copies of events", "the project will hold 1,234,334 different events of these files.")
	c.Report.UUIDsPartial = true
	_, findings = c.Summary()
	clitest.Says(t, fmt.Sprint(findings), "the project will hold at most 1,234,334 different events of these files.")
}

// The table of the test of the time zone says which events it is about.
func TestTheZoneTestSaysWhatItCounts(t *testing.T) {
	c := good()
	c.Zone = &mixpanel.ZoneTest{Records: 500, Live: 400, Offsets: map[time.Duration]int64{0: 400}}
	clitest.Says(t, html(t, c), "Of the 400 live events among 500 records: those that reached Mixpanel within a minute, and were not imported there.")
}

// The page of a plan shows open decisions first, the choices with their reasons, and what becomes of the values of a record.
func TestAPageOfAPlan(t *testing.T) {
	t.Parallel()
	c := page.Check{Report: formats.CheckReport{Examples: []formats.Conversion{{
		Before: `{"event":"Buy","properties":{"time":1652825148,"$city":"Berlin","plan":"pro","$insert_id":"i-1"}}`,
		After:  []string{`{"event":"Buy","timestamp":"2022-05-17T22:05:48Z","uuid":"u","properties":{"$geoip_city_name":"Berlin","plan":"pro"}}`},
	}}}, Plan: &page.Plan{
		File: "m.yaml", Keyed: func(text string) string { return strings.ReplaceAll(text, "--zone", "zone") },
		Choices: []page.PlanChoice{{Key: "format", Value: "mixpanel", Why: "the first <records> look like it"}},
		Decide:  []page.PlanDecision{{Key: "zone", Problem: "local times", IsOpen: true, Answers: []page.PlanChoice{{Value: "UTC", Why: "as they are"}}}, {Key: "until", Answer: "none"}},
		Files:   []page.PlanFile{{Path: "a.jsonl", Bytes: "1 KB", Records: 5, Mark: "new"}},
	}}
	var b bytes.Buffer
	require.NoError(t, c.Write(&b))
	text := b.String()
	for _, want := range []string{
		"<title>Plan: 1 decision is open – hogimport</title>", "Answer them in m.yaml, below decide.", `<span class="tag bad">Open</span> <code>zone</code>`, "<code>UTC</code>: as they are",
		`<span class="tag good">Decided</span> <code>until</code> <b>none</b>`, "the first &lt;records&gt; look like it", `5 records <span class="tag info">new</span>`,
		"$city → $geoip_city_name", "timestamp, uuid", "$insert_id, time", "2 values",
	} {
		assert.Contains(t, text, want)
	}
	assert.Less(t, strings.Index(text, `id="conversions"`), strings.Index(text, `id="events"`))
}
