package hogapi

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sizeAsCounted is what the service counts: the event as a text within JSON, and what is around it.
func sizeAsCounted(t *testing.T, wire []byte) int {
	t.Helper()
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(string(wire)))
	return text.Len() - len("\"\"\n") + 1024
}

// Blanks between the values of raw properties are sent as they are, so they count: an event that is just over the limit because of
// them is refused, and one byte less is sent.
func TestGateCountsRawBlanks(t *testing.T) {
	for name, blank := range map[string]string{"newlines": "\n", "tabs": "\t", "CR": "\r", "spaces": " ", "indented": "\n\t\t", "quotes": `"q":"\\", `} {
		t.Run(name, func(t *testing.T) {
			made := func(n int, more string) (encoded, *EventError) {
				ev := testEvent()
				text := strings.Repeat(blank, n)
				if name == "quotes" {
					text = ""
					more = strings.Repeat(`\"`, n) + more
				}
				ev.Properties, ev.RawProperties = nil, json.RawMessage(`{"a":[1`+text+`],"more":"`+more+`"}`)
				return testEncoder(GateOptions{}).encode(&ev)
			}
			out, refusal := made(10, "")
			require.Nil(t, refusal)
			each := (sizeAsCounted(t, out.wire) - sizeAsCounted(t, wireOf(t, made, 0))) / 10
			n := (maxEventBytes - sizeAsCounted(t, wireOf(t, made, 0))) / each
			rest := maxEventBytes - sizeAsCounted(t, wireOf(t, made, n))
			out, refusal = made(n, strings.Repeat("x", rest))
			require.Nil(t, refusal)
			require.Equal(t, maxEventBytes, sizeAsCounted(t, out.wire))
			_, refusal = made(n, strings.Repeat("x", rest+1))
			require.NotNil(t, refusal)
			assert.Equal(t, ReasonTooLarge, refusal.Reason)
		})
	}
}

func wireOf(t *testing.T, made func(int, string) (encoded, *EventError), n int) []byte {
	t.Helper()
	out, refusal := made(n, "")
	require.Nil(t, refusal)
	return out.wire
}
