package matomo

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// visit is a record: the members of a visit, and its actions.
type visit struct {
	row     *record.Rows
	actions []action
}

// action is an action of a visitor, as raw JSON.
type action struct {
	kind, timestamp, pageID, url, goalID, goalPageID []byte
	eventAction, eventValue, timeSpent, revenue      []byte
	rest                                             []record.Member
	nth                                              int // in the visit
	shown                                            int64
}

// rows is the part of the table that is of visits, and inAction that of actions.
var (
	rows     = table.Within("")
	inAction = func() map[string]string {
		found := map[string]string{}
		for _, row := range table.Within("actionDetails") {
			if row.Kind == record.Event && row.From != "…" {
				found[row.From] = row.To
			}
		}
		return found
	}()
)

func (c *converter) readVisit(raw []byte) error {
	var list []byte
	err := jsonb.Object(raw, func(key, value []byte) {
		switch name := string(key); {
		case name == "actionDetails":
			list = value
		case !isDropped(name) && !record.IsEmpty(value) && string(value) != "false":
			c.visit.row.Visit(key, value)
		}
	})
	if err != nil {
		return err
	}
	if len(list) == 0 || list[0] != '[' {
		return record.Want("actionDetails", "the actions of a visit", list)
	}
	var fault error
	err = jsonb.Array(list, func(element []byte) {
		a := action{nth: len(c.visit.actions)}
		if err := a.read(element); err != nil && fault == nil {
			fault = fmt.Errorf("actionDetails: %w", err)
		}
		c.visit.actions = append(c.visit.actions, a)
	})
	return errors.Join(err, fault)
}

func (a *action) read(raw []byte) error {
	known := record.Fields{
		"type": &a.kind, "timestamp": &a.timestamp, "pageId": &a.pageID, "url": &a.url, "goalId": &a.goalID,
		"goalPageId": &a.goalPageID, "eventAction": &a.eventAction, "eventValue": &a.eventValue, "timeSpent": &a.timeSpent,
		"revenue": &a.revenue,
	}
	err := jsonb.Object(raw, func(key, value []byte) {
		if isDropped(string(key)) || record.IsEmpty(value) {
			return
		}
		if !known.Take(key, value) || string(key) == "goalId" {
			a.rest = append(a.rest, record.Member{Name: key, Value: value})
		}
	})
	if err != nil {
		return err
	}
	if !record.IsText(a.kind) {
		return record.Want("type", "the kind of an action", a.kind)
	}
	var ok bool
	if a.shown, ok = record.Int(a.timestamp); !ok || a.shown <= 0 {
		return record.Want("timestamp", "seconds since 1970", a.timestamp)
	}
	return nil
}

func (a *action) isGoal() bool { return string(a.kind) == `"goal"` }

// repeats reports whether Matomo lists an action a second time.
func (a *action) repeats(other *action) bool {
	return bytes.Equal(a.kind, other.kind) && a.shown == other.shown && bytes.Equal(a.url, other.url) && bytes.Equal(a.eventAction, other.eventAction)
}

// uuidNextTo is the id of an action that shares its pageId with another one.
func (a *action) uuidNextTo(other uuid.UUID) uuid.UUID {
	return record.Derived(other, strings.Join([]string{record.Text(a.kind), record.Text(a.url), record.Text(a.eventAction), strconv.FormatInt(a.shown, 10)}, "\x00"))
}

// uuid is the id of an action: of its row, else of its place in the visit.
func (a *action) uuid(v *visit) uuid.UUID {
	parts := []string{v.row.Text("idSite"), v.row.Text("idVisit")}
	page, _ := record.ID("", a.pageID)
	switch goalPage, _ := record.ID("", a.goalPageID); {
	case a.isGoal() && goalPage != "":
		goal, _ := record.ID("", a.goalID)
		parts = append(parts, "goal", goalPage, goal)
	case page != "":
		parts = append(parts, page)
	default:
		parts = append(parts, "action", strconv.Itoa(a.nth), record.Text(a.kind), record.Text(a.url), string(bytes.Trim(a.timestamp, `"`)))
	}
	return record.Derived(space, strings.Join(parts, "\x00"))
}
