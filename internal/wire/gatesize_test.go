package wire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/internal/wire/wiretest"
)

// sizeAsCounted is the size that the service counts: the event as a JSON string, and its envelope.
func sizeAsCounted(t *testing.T, sent []byte) int {
	t.Helper()
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(string(sent)))
	return text.Len() - len("\"\"\n") + 1024
}

// Whitespace in raw properties is sent unchanged, so it counts: an event that it makes too large is
// refused, and one byte less is sent.
func TestGateCountsRawBlanks(t *testing.T) {
	for name, blank := range map[string]string{"newlines": "\n", "tabs": "\t", "CR": "\r", "spaces": " ", "indented": "\n\t\t", "quotes": `"q":"\\", `} {
		t.Run(name, func(t *testing.T) {
			made := func(n int, more string) (wire.Encoded, *wire.Refusal) {
				f := wiretest.Event()
				text := strings.Repeat(blank, n)
				if name == "quotes" {
					text = ""
					more = strings.Repeat(`\"`, n) + more
				}
				f.Properties, f.RawProperties = nil, json.RawMessage(`{"a":[1`+text+`],"more":"`+more+`"}`)
				return testEncoder(wire.Rules{}).Encode(&f)
			}
			out, refusal := made(10, "")
			require.Nil(t, refusal)
			each := (sizeAsCounted(t, out.Wire) - sizeAsCounted(t, wireOf(t, made, 0))) / 10
			n := (wire.MaxEventBytes - sizeAsCounted(t, wireOf(t, made, 0))) / each
			rest := wire.MaxEventBytes - sizeAsCounted(t, wireOf(t, made, n))
			out, refusal = made(n, strings.Repeat("x", rest))
			require.Nil(t, refusal)
			require.Equal(t, wire.MaxEventBytes, sizeAsCounted(t, out.Wire))
			_, refusal = made(n, strings.Repeat("x", rest+1))
			require.NotNil(t, refusal)
			assert.Equal(t, wire.ReasonTooLarge, refusal.Reason)
		})
	}
}

func wireOf(t *testing.T, made func(int, string) (wire.Encoded, *wire.Refusal), n int) []byte {
	t.Helper()
	out, refusal := made(n, "")
	require.Nil(t, refusal)
	return out.Wire
}
