package matomo

import (
	"cmp"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
)

// prefix is of names that something else has already: see [record.Object.Keep].
const prefix = "matomo_"

// converter makes events of visits. One goroutine at a time uses it.
type converter struct {
	options Options
	visit   visit
}

func newConverter(o Options) *converter {
	return &converter{options: o, visit: visit{row: record.NewRows(rows, prefix)}}
}

// Begin forgets the visit before.
func (c *converter) Begin() {
	c.visit.row.Begin()
	clear(c.visit.actions)
	c.visit.actions = c.visit.actions[:0]
}

// Read reads a visit.
func (c *converter) Read(raw []byte) error {
	err := c.readVisit(raw)
	for _, m := range c.visit.row.Rest {
		if string(m.Name) == "result" && record.Text(m.Value) == "error" {
			return errors.New("this is an error of Matomo's API and no visit: export the visits again")
		}
	}
	return err
}

// ID is the uuid of the first event of a visit.
func (c *converter) ID(bool) uuid.UUID {
	if len(c.visit.actions) == 0 || c.visit.row.Text("idVisit") == "" {
		return uuid.Nil
	}
	for i := range c.visit.actions {
		if a := &c.visit.actions[i]; !a.isGoal() {
			return a.uuid(&c.visit)
		}
	}
	return c.visit.actions[0].uuid(&c.visit)
}

// Events makes an event of each action of the visit, or says why it is left out. Goals come last.
func (c *converter) Events() (made []hogapi.Event, err error) {
	v := &c.visit
	if v.row.Text("idVisit") == "" {
		return nil, record.Want("idVisit", "the id of the visit", v.row.Get("idVisit"))
	}
	var base hogapi.Event
	hasID, err := record.Identify(&base, "userId", v.row.Get("userId"), "visitorId", v.row.Get("visitorId"))
	switch {
	case err != nil:
		return nil, err
	case !hasID && !c.options.Personless:
		return c.nobody()
	case !hasID:
		base.DistinctID = "matomo-visit-" + v.row.Text("idSite") + "-" + v.row.Text("idVisit")
	}
	if len(v.actions) == 0 {
		return nil, history.Skip(SkipNoAction)
	}
	first, last := &v.actions[0], &v.actions[0]
	for i := range v.actions {
		if a := &v.actions[i]; a.shown < first.shown {
			first = a
		} else if a.shown > last.shown {
			last = a
		}
	}
	clock, err := clockOf(c.options.Zone, v, first.shown, last.shown)
	if err != nil {
		return nil, err
	}
	made, err = c.actions(base, clock, first.shown, !hasID)
	switch {
	case err != nil:
		return nil, err
	case len(made) == 0:
		return nil, history.Skip(SkipNoAction)
	}
	return made, nil
}

// nobody leaves out each action of a visit without an id.
func (c *converter) nobody() (left []hogapi.Event, err error) {
	for range c.visit.actions {
		left = c.leaveOut(left, uuid.Nil, SkipNoID)
	}
	if len(left) < 2 {
		return nil, history.Skip(SkipNoID)
	}
	left[0].UUID = c.ID(true)
	return left, nil
}

// leaveOut counts an action that makes no event.
func (c *converter) leaveOut(made []hogapi.Event, id uuid.UUID, reason string) []hogapi.Event {
	if c.options.countsByPage() {
		return made
	}
	ev := event.Skip(hogapi.Position{}, reason)
	ev.UUID = id
	return append(made, ev)
}

// actions makes the events of a visit of which the first action was at a time. base has the person.
func (c *converter) actions(base hogapi.Event, clock clock, first int64, isNobody bool) (made []hogapi.Event, err error) {
	v := &c.visit
	var goals []hogapi.Event
	hasEntry := false
	seen := map[uuid.UUID]*action{}
	for i := range v.actions {
		a := &v.actions[i]
		ev := base
		ev.UUID = a.uuid(v)
		if same := seen[ev.UUID]; same != nil && !c.options.countsByPage() && !a.repeats(same) { // a search of a page, for example
			ev.UUID = a.uuidNextTo(ev.UUID)
		}
		switch {
		case seen[ev.UUID] != nil:
			goals = c.leaveOut(goals, ev.UUID, SkipListedTwice)
			continue
		case a.isGoal() && c.options.NoGoals:
			goals = c.leaveOut(goals, ev.UUID, SkipGoal)
			continue
		}
		seen[ev.UUID] = a
		if ev.Timestamp, err = clock.at(a.shown); err != nil {
			return nil, err
		}
		ev.Name = a.name()
		isEntry := !hasEntry && a.shown == first
		hasEntry = hasEntry || isEntry
		c.properties(a, isEntry, isNobody)
		if !clock.first.IsZero() {
			device, session := cmp.Or(v.row.Text("visitorId"), ev.DistinctID), v.row.Text("idSite")+"/"+v.row.Text("idVisit")
			v.row.Out.AddSession(clock.first, device, session, ev.Timestamp)
		}
		ev.RawProperties = v.row.Out.JSON()
		if a.isGoal() {
			goals = append(goals, ev)
		} else {
			made = append(made, ev)
		}
	}
	return append(made, goals...), nil
}

// name is PostHog's name of an action.
func (a *action) name() string {
	switch kind := record.Text(a.kind); kind {
	case "action":
		return "$pageview"
	case "event":
		return cmp.Or(record.Text(a.eventAction), kind)
	default:
		return kind
	}
}

// properties makes the properties of an action. The entry of the visit has where the visitor came from.
func (c *converter) properties(a *action, isEntry, isNobody bool) {
	r := c.visit.row
	out := &r.Out
	out.Begin()
	url := record.Text(a.url)
	switch kind := record.Text(a.kind); {
	case kind == "outlink" || kind == "download": // it is that of the target
		out.AddGiven("url", url)
		url = ""
	case url != "" && !strings.Contains(url, "://"):
		url = "https://" + url
	}
	out.AddGiven("$current_url", url)
	for _, of := range [...]struct {
		name string
		raw  []byte
	}{{"value", a.eventValue}, {"time_spent", a.timeSpent}, {"revenue", a.revenue}} {
		if !record.IsNone(of.raw) {
			out.Add(of.name, record.Number(of.raw))
		}
	}
	for _, m := range a.rest {
		name := string(m.Name)
		if name == "title" && string(a.kind) != `"action"` && !c.options.countsByPage() {
			name = prefix + name // it is no title of a page
		}
		r.Keep(cmp.Or(inAction[name], name), m.Value)
	}
	if isEntry {
		c.entry(url)
	}
	c.device()
	if r.Text("country") == "Unknown" {
		r.Set("country", nil)
	}
	out.AddCountry(r.Text("countryCode"))
	if out.Get("$geoip_country_name") != nil {
		r.Set("country", nil) // in the words of the caller
	}
	if model := strings.ToLower(r.Text("deviceModel")); strings.HasPrefix(model, "generic ") {
		r.Set("deviceModel", nil)
	}
	if language := r.Text("languageCode"); language != "" {
		r.Set("languageCode", record.Quoted(record.Language(language)))
	}
	r.AddColumns()
	if isEntry {
		r.AddWeb(true)
	} else {
		out.AddPage(out.Get("$current_url"))
	}
	if isNobody {
		out.Add("$process_person_profile", []byte("false"))
	}
	if c.options.LookUpIP {
		out.AddLookUp()
	}
}

// entry adds where the visitor came from.
func (c *converter) entry(url string) {
	r := c.visit.row
	r.Out.AddGiven("$referrer", r.Text("referrerUrl"))
	r.Out.AddPage(record.Quoted(url)) // its own campaign first
	if r.Text("referrerType") == "campaign" {
		r.Out.AddGiven("utm_campaign", r.Text("referrerName"))
		r.Out.AddGiven("utm_term", r.Text("referrerKeyword"))
	}
}

// deviceTypes are Matomo's kinds of devices in English.
var deviceTypes = map[string]string{
	"Desktop": "Desktop", "Smartphone": "Mobile", "Phablet": "Mobile", "Feature phone": "Mobile", "Tablet": "Tablet", "Console": "Console",
	"TV": "TV", "Wearable": "Wearable",
}

func (c *converter) device() {
	r := c.visit.row
	out := &r.Out
	system := r.Text("operatingSystemName")
	out.AddOS(system, r.Text("operatingSystemVersion"))
	out.AddBrowser(r.Text("browserName"), r.Text("browserVersion"), system)
	kind := cmp.Or(deviceTypes[r.Text("deviceType")], record.DeviceType(system, r.Text("deviceModel")))
	out.AddGiven("$device_type", kind)
	if brand := r.Text("deviceBrand"); brand != "" && brand != "Unknown" {
		out.AddText("$device_manufacturer", brand)
	}
	if width, height := record.Size(r.Get("resolution")); width != nil {
		out.Add("$screen_width", width)
		out.Add("$screen_height", height)
	}
}
