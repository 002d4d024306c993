package faults

import (
	"bytes"
	"encoding/json"
	"net/url"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// A toxic that ends a connection leaves goroutines of the proxy behind, which wait for each other.
var ignoreToxiproxy = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"),
	goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
}

// line is a line to a server that toxics can disturb.
type line struct {
	*toxiproxy.Proxy

	t *testing.T
}

// newLine returns a line to the server at a URL.
func newLine(t *testing.T, to string) *line {
	t.Helper()
	target, err := url.Parse(to)
	require.NoError(t, err)
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	l := &line{toxiproxy.NewProxy(api, "line", "127.0.0.1:0", target.Host), t}
	require.NoError(t, l.Start())
	t.Cleanup(l.Stop)
	return l
}

// url is the address of the line for clients.
func (l *line) url() string { return "http://" + l.Listen }

// toxic is one fault of a line. It affects existing and later connections.
type toxic struct {
	Type       string         `json:"type"`
	Stream     string         `json:"stream"`   // upstream: from the client
	Toxicity   float64        `json:"toxicity"` // share of the connections
	Attributes map[string]int `json:"attributes"`
}

func (l *line) add(x toxic) {
	l.t.Helper()
	text, err := json.Marshal(x)
	require.NoError(l.t, err)
	_, err = l.Toxics.AddToxicJson(bytes.NewReader(text))
	require.NoError(l.t, err)
}
