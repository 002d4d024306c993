package hogtemporal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
)

type verifyInput struct {
	Import  ImportParams   `json:"import"` // without shards
	Receipt hogapi.Receipt `json:"receipt"`
}

// Arrival is the arrival of an import's events in the project, from [history.Verification].
type Arrival struct {
	State   history.VerificationState `json:"state"`
	Seen    int64                     `json:"seen"`
	Copies  int64                     `json:"copies"`
	Missing int64                     `json:"missing,omitempty"`
	Moved   int64                     `json:"moved,omitempty"`
	Foreign int64                     `json:"foreign,omitempty"`
	Notes   []string                  `json:"notes,omitempty"`
}

// verify waits until all sent events are in the project, or until no more arrive.
func (a *activities) verify(ctx context.Context, in verifyInput) (Arrival, error) {
	b, alive, end := keepAlive(ctx, a.temporal, a.now, Beat{Worker: a.options.Identity, Shard: -1})
	defer end()
	found, err := a.compare(alive, b, in)
	if err != nil {
		return Arrival{}, ended(alive, b, err)
	}
	return found, nil
}

func (a *activities) compare(ctx context.Context, b *beats, in verifyInput) (Arrival, error) {
	if os.Getenv("POSTHOG_PERSONAL_API_KEY") == "" {
		return Arrival{}, errNoKey
	}
	c, err := a.client(&fence{b.lease, a.options.Transport}, "verify")
	if err != nil {
		return Arrival{}, err
	}
	options := &history.VerifyOptions{Gate: in.Import.Gate, Wait: true}
	if store := a.options.Store; store != nil && store.Folder(in.Import.ID) != "" {
		options.Dir = filepath.Join(store.Folder(in.Import.ID), "verify")
	}
	v, err := history.Verify(ctx, c, in.Receipt, options)
	if err != nil {
		return Arrival{}, err
	}
	if !v.Complete() && v.State == history.VerificationStillArriving {
		return Arrival{}, fmt.Errorf("hogtemporal: %s: %d of %d events are there", v.State, v.Seen, v.Acknowledged)
	}
	return Arrival{v.State, v.Seen, v.Copies, v.MissingEvents, v.MovedEvents, v.ForeignEvents, v.Notes[:min(len(v.Notes), 10)]}, nil
}
