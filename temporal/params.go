package hogtemporal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
)

// Shard is one file of an import.
type Shard struct {
	// Path is a path that is the same on all workers, or a URL with a scheme of [WorkerOptions.Sources]. The base names
	// of an import's shards must differ: positions and uuids are derived from them.
	Path string `json:"path"`
	// Format is the name of the format that converts records to events: see [Formats]. The default is "jsonlines".
	Format string `json:"format,omitempty"`
	// Options are the options of the format, as JSON; a time zone is given by its name.
	Options json.RawMessage `json:"options,omitempty"`
}

// ImportParams describe an import. Everybody who can read Temporal's history can read them, so keys are
// refused.
type ImportParams struct {
	// ID names the import and must not change: see [history.Options]. It is part of the workflow's id.
	ID string `json:"id"`
	// Shards are sent one after another, oldest events first. There can be at most 10,000.
	Shards []Shard `json:"shards"`
	// Rate is the largest number of events per second, or [hogapi.RateUnlimited]. [SetRate] changes it. The default is
	// 1,000.
	Rate int `json:"rate,omitempty"`
	// MaxRejectShare and MaxRejects are the fields of [history.Options], for each shard.
	MaxRejectShare float64 `json:"max_reject_share,omitempty"`
	MaxRejects     int64   `json:"max_rejects,omitempty"`

	Gate hogapi.GateOptions `json:"gate,omitzero"`

	NoCheck  bool `json:"no_check,omitempty"`  // do not read all shards before the first event is sent
	NoVerify bool `json:"no_verify,omitempty"` // do not compare with the project, which needs a personal key

	// Heartbeat is how long a worker may be silent before another worker takes over, and so also how long it sends
	// without an answer from Temporal. It is at least 2 s. The default is 30 s.
	Heartbeat time.Duration `json:"heartbeat,omitempty"`
}

const (
	defaultRate      = 1000
	defaultHeartbeat = 30 * time.Second
	minHeartbeat     = 2 * time.Second
	maxShards        = 10_000
	maxParams        = 1 << 20 // bytes: Temporal refuses more than 2 MiB
)

func (p ImportParams) withDefaults() ImportParams {
	p.Rate, p.Heartbeat = cmp.Or(p.Rate, defaultRate), cmp.Or(p.Heartbeat, defaultHeartbeat)
	return p
}

var keyLike = regexp.MustCompile(`ph[cx]_[A-Za-z0-9_]+`)

// check refuses parameters that cannot work. Its errors are [*hogapi.InputError].
func (p ImportParams) check() error {
	bad := func(field, value, want string) error {
		return &hogapi.InputError{Field: "ImportParams." + field, Value: value, Want: want}
	}
	if p.ID == "" || len(p.ID) > 200 {
		return bad("ID", p.ID, `a name that stays the same, such as "mixpanel-2024", of at most 200 bytes`)
	}
	raw, err := json.Marshal(p)
	switch {
	case err != nil:
		return bad("Shards", "", "options that are JSON: "+err.Error())
	case keyLike.Match(raw):
		return &hogapi.InputError{Field: "ImportParams", Want: "no key: workers read keys from their environment, and what is here stays in Temporal's history"}
	case len(p.Shards) == 0 || len(p.Shards) > maxShards || len(raw) > maxParams:
		return bad("Shards", strconv.Itoa(len(p.Shards)), fmt.Sprintf("1 to %d shards, of at most 1 MiB as JSON: larger shards are fewer", maxShards))
	case p.Rate < hogapi.RateUnlimited:
		return bad("Rate", strconv.Itoa(p.Rate), "events a second, 0 for the default of 1,000, or -1 for no limit")
	case p.Heartbeat != 0 && p.Heartbeat < minHeartbeat:
		return bad("Heartbeat", p.Heartbeat.String(), "2 s or more, or 0 for the default of 30 s")
	}
	names := map[string]bool{}
	for i, s := range p.Shards {
		field := fmt.Sprintf("Shards[%d].", i)
		if err := s.check(field, bad); err != nil {
			return err
		}
		if names[s.name()] {
			return bad(field+"Path", s.name(), "a base name that no other shard has: uuids are made of it")
		}
		names[s.name()] = true
	}
	return nil
}

func (s Shard) check(field string, bad func(field, value, want string) error) error {
	if s.Path == "" || strings.ContainsAny(s.Path, "*?[\n") {
		return bad(field+"Path", s.Path, "the path or URL of one file, no pattern")
	}
	if u := s.url(); u != nil && u.User != nil {
		return bad(field+"Path", "", "a URL without user and password: workers have these in their environment")
	}
	if s.url() != nil {
		return nil // its format is for the worker to know
	}
	if _, err := s.source(); err != nil {
		return bad(field+"Format", s.Format, err.Error())
	}
	return nil
}

func (s Shard) url() *url.URL {
	if !strings.Contains(s.Path, "://") {
		return nil
	}
	u, err := url.Parse(s.Path)
	if err != nil {
		return &url.URL{Scheme: "invalid"}
	}
	return u
}

// IsURL reports whether Path is a URL, and not a path.
func (s Shard) IsURL() bool { return s.url() != nil }

func (s Shard) name() string { return path.Base(s.Path) }
