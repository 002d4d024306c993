package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/ops"
)

// project is where events go, and the keys for it.
type project struct {
	host, captureHost string
	id                string
	key, keyFile      string // of events
	personal          string // of management calls
	personalFile      string
	moved             string // --moved-host
	asks              bool   // the command asks the project
}

// bindKey adds the flags of a command that sends events.
func (p *project) bindKey(cmd *cobra.Command) {
	p.bindHost(cmd)
	f := cmd.Flags()
	f.StringVar(&p.captureHost, "capture-host", "", "the `URL` of the origin that takes events, if it is not that of --host")
	f.StringVar(&p.key, "project-key", "", "the project API `KEY` (phc_…), or @FILE; better in the environment: POSTHOG_PROJECT_API_KEY")
	f.StringVar(&p.keyFile, "project-key-file", "", "a `FILE` with the project API key")
}

// bindPersonal adds the flags of a command that asks the project.
func (p *project) bindPersonal(cmd *cobra.Command) {
	p.bindHost(cmd)
	p.asks = true
	f := cmd.Flags()
	f.StringVar(&p.id, "project-id", "", "the `NUMBER` of the project; or POSTHOG_PROJECT_ID")
	f.StringVar(&p.personalFile, "personal-key-file", "", "a `FILE` with the personal API key (phx_…); better in the environment: POSTHOG_PERSONAL_API_KEY")
}

func (p *project) bindHost(cmd *cobra.Command) {
	if cmd.Flags().Lookup("host") == nil {
		cmd.Flags().StringVar(&p.host, "host", "", "us, eu, or the `URL` of a server of your own; or POSTHOG_HOST, POSTHOG_REGION")
	}
}

func (a *app) host(p *project) string {
	return cmp.Or(p.host, a.Env("POSTHOG_HOST"), a.Env("POSTHOG_REGION"))
}

func (a *app) projectID(p *project) string { return cmp.Or(p.id, a.Env("POSTHOG_PROJECT_ID")) }

// client returns a client that can send events (with the project API key), query the project (with a personal
// key and the project's id), or both. It also uses settings that are known but not required.
func (a *app) client(p *project, sends, asks bool, more ...hogapi.Option) (*hogapi.Client, error) {
	options := append([]hogapi.Option{hogapi.WithApplication("hogimport", shell.Version())}, more...)
	where, err := a.Hosts(p.host, p.captureHost)
	if err != nil {
		return nil, err
	}
	options = append(options, where...)
	key, err := a.Secret("--project-key", p.key, p.keyFile, "POSTHOG_PROJECT_API_KEY")
	if err != nil {
		return nil, err
	}
	switch {
	case key != "":
		options = append(options, hogapi.WithProjectAPIKey(key))
	case sends:
		return nil, shell.UsageError("the project API key is missing", "set POSTHOG_PROJECT_API_KEY to the phc_… key of the project's settings, or give --project-key-file FILE")
	}
	personal, err := a.Secret("--personal-key-file", p.personal, p.personalFile, "POSTHOG_PERSONAL_API_KEY")
	if err != nil {
		return nil, err
	}
	id := a.projectID(p)
	switch {
	case personal != "" && id != "":
		options = append(options, hogapi.WithPersonalAPIKey(personal), hogapi.WithProject(id))
	case asks && personal == "":
		return nil, shell.UsageError("the personal API key is missing", "set POSTHOG_PERSONAL_API_KEY to a phx_… key with the scope query:read, or give --personal-key-file FILE")
	case asks:
		return nil, shell.UsageError("the project's id is missing", "give --project-id NUMBER: it is in the project's settings and in the address of its pages")
	}
	client, err := hogapi.NewClient(options...)
	if err != nil {
		return nil, &shell.Fault{Code: shell.CodeUsage, Text: inFlags(err), Err: err}
	}
	return client, nil
}

func (a *app) canAsk(p *project) bool {
	hasKey := p.personal != "" || p.personalFile != "" || a.Env("POSTHOG_PERSONAL_API_KEY") != ""
	return hasKey && a.projectID(p) != ""
}

// shareOfRejects is a share as the library writes it.
var shareOfRejects = regexp.MustCompile(`MaxRejectShare \(([0-9.e-]+)\)`)

// inFlags returns the text of an error in the words of this program.
func inFlags(err error) string {
	text := shareOfRejects.ReplaceAllStringFunc(err.Error(), func(found string) string {
		share, _ := strconv.ParseFloat(shareOfRejects.FindStringSubmatch(found)[1], 64)
		return fmt.Sprintf("--max-rejects (%g%%)", 100*share)
	})
	if answer, ok := errors.AsType[*hogapi.APIError](err); ok && answer.Op == ops.Do { // a call of this program has no name
		status := strconv.Itoa(answer.StatusCode)
		text = strings.Replace(text, string(ops.Do)+": "+status, status, 1)
	}
	return page.Plain(page.InFlags(text))
}

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

// keyDigest identifies a project key, since keys are not kept. It returns "" without a key.
func (a *app) keyDigest(p *project) string {
	key, err := a.Secret("--project-key", p.key, p.keyFile, "POSTHOG_PROJECT_API_KEY")
	if err != nil || key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("hogimport project\x00" + key))
	return hex.EncodeToString(sum[:4])
}

// clientOf returns a client that queries the project of an import, and that project. It refuses any other
// project.
func (a *app) clientOf(ctx context.Context, p *project, s *state, sends bool) (client *hogapi.Client, here target, err error) {
	if client, err = a.client(p, sends, true, hogapi.WithLogger(a.Logger())); err != nil {
		return nil, here, err
	}
	here = a.targetOf(client, p)
	if err = s.check(here, p); err == nil {
		err = s.checkProject(ctx, client, here)
	}
	return client, here, err
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
		return shell.UsageError(fmt.Sprintf("--moved-host %q is not OLD=NEW", text), "give the two hosts with their ports, such as localhost:8000=localhost:8010")
	}
	if t.Target != from && t.API != from && (t.Target != to || t.API != "" && t.API != to) {
		return shell.UsageError(fmt.Sprintf("the import was not sent to %s but to %s", term.Line(from), t.Target), "give --moved-host "+t.Target+"=NEW, or leave it out")
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

// hostIn returns the host of a URL or a name.
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
	return &shell.Fault{
		Code: shell.CodeProject, Text: fmt.Sprintf("the import in %s was sent to %s, and this is %s", s.dir, was, is),
		Todo: fmt.Sprintf("give its own --host. If its server has this address now, add --moved-host %s=%s. Files for another server need a --state of their own", was, is),
	}
}

// checkProject refuses any other project than the import's own, unless the project has events of the import.
func (s *state) checkProject(ctx context.Context, client *hogapi.Client, now target) error {
	if s.kept.Project == "" || s.kept.Project == now.Project {
		return nil
	}
	f := &shell.Fault{
		Code: shell.CodeProject, Text: fmt.Sprintf("the import in %s is of project %s, and this is project %s, which ", s.dir, s.kept.Project, now.Project),
		Todo: "give --project-id " + s.kept.Project,
	}
	switch days, err := daysOf(ctx, client, s.kept.ID); {
	case ctx.Err() != nil:
		return err
	case err != nil:
		why := faultOf(err)
		f.Code, f.Text, f.Err = why.Code, f.Text+"cannot be asked: "+why.Text, err
	case len(days) > 0:
		return nil
	default:
		f.Text += "has none of its events"
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

// words names the target, with the number of the project if it is known.
func (t *target) words() string {
	if t.Project == "" {
		return t.Target
	}
	return "project " + t.Project + " at " + t.Target
}
