package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	intervals "github.com/hogapi/hogapi/internal/coverage"
)

// told is the last message that the webhook got about an export. It is stored, so a restart does not repeat it.
type notified struct {
	Intervals int  `json:"intervals"` // that are not exported
	Paused    bool `json:"paused"`    // by the service
	Stuck     bool `json:"stuck"`
	Behind    bool `json:"behind"`
}

// message is the body of a request to the webhook. Slack and Mattermost show its text, and other programs read the rest.
type message struct {
	Text      string    `json:"text"`
	Event     string    `json:"event"`
	ExportID  uuid.UUID `json:"export_id"`
	Export    string    `json:"export"`
	Intervals int       `json:"intervals"`
	At        time.Time `json:"at"`
}

// change is a message, and the webhook's knowledge after it.
type change struct {
	message

	after notified
}

// changes returns the messages about an export since the last one.
func (x *watched) changes(now time.Time) (all []change) {
	was, s := x.Told, &x.Status
	add := func(event, text string) {
		all = append(all, change{message{
			Text:  escaped(fmt.Sprintf("%s (%s to %s, %s): %s", term.Line(s.Name), every(s.Interval), s.Destination, s.ID.String()[:8], text)),
			Event: event, ExportID: s.ID, Export: s.Name, Intervals: was.Intervals, At: now,
		}, was})
	}
	if n := len(x.Open); !x.ReadAt.IsZero() && n != was.Intervals {
		old := was.Intervals
		was.Intervals = n
		switch {
		case n == 0:
			add("gap_closed", "every interval of the last 30 days is exported again, or known")
		case old == 0:
			add("gap_began", fmt.Sprintf("%s not exported, since %s UTC", plural(n, "interval"), x.Open[0].Start.Format(clock)))
		case n > old:
			add("gap_grew", fmt.Sprintf("%s not exported, after %d, since %s UTC", plural(n, "interval"), old, x.Open[0].Start.Format(clock)))
		default:
			add("gap_shrank", fmt.Sprintf("%s not exported, after %d, since %s UTC", plural(n, "interval"), old, x.Open[0].Start.Format(clock)))
		}
	}
	turn := func(flag *bool, is bool, event, begins, ends string) {
		switch {
		case is == *flag:
		case is:
			*flag = true
			add(event, begins)
		default:
			*flag = false
			add(event+"_ended", ends)
		}
	}
	isPaused := s.State == statePaused
	since, isStuck := x.stuckSince(now)
	late := now.Sub(x.Exported)
	isBehind := !isPaused && !x.Exported.IsZero() && late > lateAfter(s.Interval)
	turn(&was.Paused, isPaused && (was.Paused || s.Failures >= intervals.PauseAfter), "paused", "paused, probably by the service after "+plural(s.Failures, "failed run"), "runs again")
	turn(&was.Stuck, isStuck, "stuck", "a run is under way since "+since.Format(clock)+" UTC", "no run is stuck")
	turn(&was.Behind, isBehind, "behind", "behind: the newest exported interval ended "+span(late)+" ago, at "+x.Exported.Format(clock)+" UTC", "no longer behind")
	return all
}

// escaped keeps a name from being a link or a mention.
var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace

// webhook is told about changes. Its URL is a secret.
type webhook struct {
	url    string
	client *http.Client
}

func newWebhook(text string) (*webhook, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, shell.UsageError("--webhook is not a URL", "give https://…, preferably in HOGEXPORT_WEBHOOK: the URL is a secret, and other users see a program's arguments")
	}
	const patience = 10 * time.Second
	return &webhook{text, &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// post sends a message once. Its errors do not have the URL.
func (h *webhook) post(ctx context.Context, m message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the webhook's URL cannot be used")
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := h.client.Do(request)
	if err != nil {
		if hidden, ok := errors.AsType[*url.Error](err); ok {
			err = hidden.Err
		}
		return fmt.Errorf("the webhook does not answer: %w", err)
	}
	defer answer.Body.Close()
	const enough = 64 << 10
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, enough)) // so that the connection is used again
	if answer.StatusCode < http.StatusOK || answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("the webhook answered %s", answer.Status)
	}
	return nil
}

// tell posts a message for each change. After an error, the next look tells the rest.
func (m *monitor) tell(ctx context.Context) error {
	if m.hook == nil {
		return nil
	}
	m.mu.Lock()
	ids := slices.SortedFunc(maps.Keys(m.watched), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	var all []change
	for _, id := range ids {
		all = append(all, m.watched[id].changes(m.now().UTC())...)
	}
	m.mu.Unlock()
	if len(all) > 0 {
		defer m.save()
	}
	for _, c := range all {
		if err := m.hook.post(ctx, c.message); err != nil {
			return err
		}
		m.mu.Lock()
		m.watched[c.ExportID].Told = c.after
		m.mu.Unlock()
	}
	return nil
}
