package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/term"
)

type target struct {
	Target  string   `json:"target"`            // the host that takes events
	API     string   `json:"api,omitempty"`     // the host that is asked for them; empty: not known
	Project string   `json:"project,omitempty"` // its number; empty: not known
	Key     string   `json:"key,omitempty"`     // a digest of the project key
	Moved   []string `json:"moved,omitempty"`   // OLD=NEW, as --moved-host has said it
}

var hostsOfClient = regexp.MustCompile(`api: (.*), capture: (.*)}$`)

func (a *app) targetOf(client *hogapi.Client, p *project) target {
	found := hostsOfClient.FindStringSubmatch(client.String())
	return target{API: found[1], Target: found[2], Project: a.projectID(p), Key: a.keyDigest(p)}
}

// keyDigest tells project keys apart, which are not kept. It is empty where there is no key.
func (a *app) keyDigest(p *project) string {
	key, err := a.secret("--project-key", p.key, p.keyFile, "POSTHOG_PROJECT_API_KEY")
	if err != nil || key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("hogimport project\x00" + key))
	return hex.EncodeToString(sum[:4])
}

func (p *project) bindMoved(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.moved, "moved-host", "", "the server of the import has another address now: `OLD=NEW`, such as localhost:8000=localhost:8010; it is kept with the import")
}

func (t *target) move(text string) error {
	if text == "" {
		return nil
	}
	from, to, ok := strings.Cut(text, "=")
	from, to = hostIn(from), hostIn(to)
	if !ok || from == "" || to == "" {
		return usageError(fmt.Sprintf("--moved-host %q is not OLD=NEW", text), "give the two hosts with their ports, such as localhost:8000=localhost:8010")
	}
	if t.Target != from && t.API != from && (t.Target != to || t.API != "" && t.API != to) {
		return usageError(fmt.Sprintf("the import was not sent to %s but to %s", term.Line(from), t.Target), "give --moved-host "+t.Target+"=NEW, or leave it out")
	}
	if t.Target == from {
		t.Target = to
	}
	if t.API == from {
		t.API = to
	}
	if entry := from + "=" + to; !slices.Contains(t.Moved, entry) {
		t.Moved = append(t.Moved, entry)
	}
	return nil
}

// hostIn is the host of a URL, or of a name.
func hostIn(text string) string {
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		return u.Host
	}
	return text
}

// check refuses a host other than that of the state folder. A state of an older release names no
// host.
func (s *state) check(now target, p *project) error {
	if s.kept.Target == "" {
		return nil
	}
	if err := s.kept.move(p.moved); err != nil {
		return err
	}
	was, is := s.kept.Target, now.Target
	if s.kept.API != "" && p.asks {
		was, is = s.kept.API, now.API
	}
	if was == is {
		return nil
	}
	return &fault{
		code: codeProject, text: fmt.Sprintf("the import in %s was sent to %s, and this is %s", s.dir, was, is),
		todo: fmt.Sprintf("give its own --host. If its server has this address now, add --moved-host %s=%s. Files for another server need a --state of their own", was, is),
	}
}

// checkProject refuses another project than that of the import, unless it has events of it.
func (s *state) checkProject(ctx context.Context, client *hogapi.Client, now target) error {
	if s.kept.Project == "" || s.kept.Project == now.Project {
		return nil
	}
	f := &fault{
		code: codeProject, text: fmt.Sprintf("the import in %s is of project %s, and this is project %s, which ", s.dir, s.kept.Project, now.Project),
		todo: "give --project-id " + s.kept.Project,
	}
	switch days, err := daysOf(ctx, client, s.kept.ID); {
	case ctx.Err() != nil:
		return err
	case err != nil:
		why := faultOf(err)
		f.code, f.text, f.err = why.code, f.text+"cannot be asked: "+why.text, err
	case len(days) > 0:
		return nil
	default:
		f.text += "has none of its events"
	}
	return f
}

// keepTarget saves the import's host and the host that its server has moved to. It keeps changes
// that other processes have saved since: a verify may run during a run.
func (s *state) keepTarget(found target, hasEvents bool) error {
	now := &state{dir: s.dir}
	if _, err := now.read("import.json", &now.kept); err != nil {
		return err
	}
	was := now.kept.target
	now.kept.Target, now.kept.API, now.kept.Moved = s.kept.Target, s.kept.API, s.kept.Moved
	if hasEvents {
		now.kept.Project = found.Project
	}
	if reflect.DeepEqual(was, now.kept.target) {
		return nil
	}
	return now.save()
}

// words name the target, with the number of the project where it is known.
func (t *target) words() string {
	if t.Project == "" {
		return t.Target
	}
	return "project " + t.Project + " at " + t.Target
}
