package testevents

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/bits"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
)

// DigestOf is the digest of a receipt, made anew: the sum of the uuids as numbers of 128 bits.
func DigestOf(ids []uuid.UUID) string {
	var high, low, carry uint64
	for _, id := range ids {
		low, carry = bits.Add64(low, binary.BigEndian.Uint64(id[8:]), 0)
		high, _ = bits.Add64(high, binary.BigEndian.Uint64(id[:8]), carry)
	}
	return hex.EncodeToString(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, high), low))
}

// MixedLines are n lines: most are good, every seventh is bad in its form, every eleventh for the gate, every thirteenth is poison.
func MixedLines(n int) (content string, good []uuid.UUID, rejects int) {
	var b strings.Builder
	for i := range n {
		id := ID(i + 1)
		at := LongAgo.Add(time.Duration(i) * time.Second).Format(time.RFC3339)
		switch {
		case i%7 == 6:
			fmt.Fprintf(&b, "{\"event\":\"a\",\"n\":%d\n", i)
		case i%11 == 10:
			fmt.Fprintf(&b, "{\"event\":\"\",\"distinct_id\":\"p%d\",\"timestamp\":%q,\"uuid\":%q}\n", i%17, at, id)
		case i%13 == 12:
			fmt.Fprintf(&b, "{\"event\":\"poison\",\"distinct_id\":\"p%d\",\"timestamp\":%q,\"uuid\":%q}\n", i%17, at, id)
		default:
			fmt.Fprintf(&b, "{\"event\":\"a\",\"distinct_id\":\"p%d\",\"timestamp\":%q,\"uuid\":%q,\"properties\":{\"n\":%d}}\n\n", i%17, at, id, i)
			good = append(good, id)
			continue
		}
		rejects++
	}
	return b.String(), good, rejects
}

// RequireExactRejects demands each reject, in the order of the source, and none twice but for those that a crash repeats.
func RequireExactRejects(t T, content []byte, want int) {
	t.Helper()
	seen := map[int64]map[string]any{}
	for line := range strings.Lines(string(content)) {
		hole := strings.LastIndexByte(line, 0) // that a loss of power has left
		line = line[hole+1:]
		if hole >= 0 && !json.Valid([]byte(line)) {
			continue
		}
		var r map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &r), "%s", line)
		note, ok := r["$reject"].(map[string]any)
		require.True(t, ok, "%s", line)
		place, ok := note["position"].(map[string]any)
		require.True(t, ok, "%s", line)
		at, _ := place["offset"].(float64)
		delete(note, "detail") // the service's words, which a fault may cut
		if before, again := seen[int64(at)]; again {
			require.Equal(t, before, r, "the same reject")
			continue
		}
		seen[int64(at)] = r
	}
	require.Len(t, seen, want)
}

// RefusePoison refuses the poison of MixedLines.
func RefusePoison(server *hogapitest.Server) {
	server.RejectEvents(func(raw json.RawMessage) int {
		if bytes.Contains(raw, []byte(`"event":"poison"`)) {
			return 400
		}
		return 0
	})
}

// Level is how much the tests are to do: gate, nightly or deep.
func Level() string { return cmp.Or(os.Getenv("HOGAPI_TEST"), "gate") }

// Sized chooses the gate's figure or the nightly run's. The deep run has its own where it is given.
func Sized[V any](short, long V, deep ...V) V {
	switch level := Level(); {
	case level == "deep" && len(deep) > 0:
		return deep[0]
	case level == "gate":
		return short
	}
	return long
}
