package hogtemporal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
)

type checkInput struct {
	Import ImportParams `json:"import"` // with this shard only
	Number int          `json:"number"`
}

type checked struct {
	Events   int64  `json:"events"`
	Rejected int64  `json:"rejected"`
	Print    string `json:"print,omitempty"` // of the file
}

// check reads one shard, and fails if too much of it would be rejected.
func (a *activities) check(ctx context.Context, in checkInput) (checked, error) {
	b, alive, end := keepAlive(ctx, a.temporal, a.now, Beat{Worker: a.options.Identity, Shard: in.Number})
	defer end()
	found, err := a.checkShard(alive, in)
	if err != nil {
		return checked{}, ended(alive, b, err)
	}
	return found, nil
}

func (a *activities) checkShard(ctx context.Context, in checkInput) (found checked, err error) {
	shard := in.Import.Shards[0]
	source, err := a.source(ctx, shard)
	if err != nil {
		return found, err
	}
	if found.Print, err = fingerprint(shard); err != nil || in.Import.NoCheck {
		return found, err
	}
	p := in.Import
	report, err := history.Check(ctx, source, &history.Options{
		ID: p.ID, Gate: p.Gate, MaxRejectShare: p.MaxRejectShare, MaxRejects: p.MaxRejects,
	})
	found.Events, found.Rejected = report.Good, report.Rejected
	return found, err
}

// printed is the number of bytes of each end of a file that its fingerprint covers.
const printed = 64 << 10

// fingerprint tells a file from another one by its size and its ends. It is empty for a URL: noticing a change is
// then up to the source.
func fingerprint(s Shard) (string, error) {
	if s.url() != nil {
		return "", nil
	}
	f, err := os.Open(s.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", &hogapi.InputError{Field: "Shard.Path", Value: s.Path, Want: "a regular file, which can be read again"}
	}
	hash := sha256.New()
	fmt.Fprintln(hash, info.Size())
	for _, from := range []int64{0, max(0, info.Size()-printed)} {
		if _, err := io.Copy(hash, io.NewSectionReader(f, from, printed)); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:12]), nil
}

func samePrint(s Shard, want string) error {
	if want == "" {
		return nil
	}
	got, err := fingerprint(s)
	if err == nil && got != want {
		err = fmt.Errorf("%s: %w: its size, its beginning or its end has changed", s.Path, errChanged)
	}
	return err
}
