package hogapi_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

const wordsKey = "phc_CanaryProjectKey0123456789"

// saying answers each batch with a status and a text.
func saying(status int, contentType, text string) hogapitest.Fault {
	return hogapitest.Always(hogapitest.Then(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, text)
	}))
}

// What the service says of a refusal is in the reject, in the reject file and in the stop: on one line, bounded, and without keys.
func TestTheServicesOwnWords(t *testing.T) {
	const told = "the event is too odd"
	for name, c := range map[string]struct {
		status            int
		contentType, text string
	}{
		"a text":           {400, "text/plain", told},
		"a text with keys": {400, "text/plain", "no, " + wordsKey + " and phx_AnotherKey0123456789: " + told},
		"control bytes":    {400, "text/plain", told + "\x1b[31m\r\nforged line\x00"},
		"a long text":      {400, "text/plain", told + strings.Repeat(" very", 700)},
		"413":              {413, "text/plain", told},
		"JSON":             {400, "application/json", `{"type":"validation_error","code":"invalid","detail":"` + told + ` for ` + wordsKey + `"}`},
		"401":              {401, "text/plain", told + " " + wordsKey},
		"402":              {402, "application/json", `{"detail":"` + told + `"}`},
		"403":              {403, "text/plain", told},
		"404":              {404, "text/plain", told},
		"503":              {503, "text/plain", told},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := hogapitest.New(hogapitest.WithProjectKey(wordsKey))
				server.Script(ops.Capture, saying(c.status, c.contentType, c.text))
				client := server.Client(t)
				requireWords := func(text string) {
					require.Contains(t, text, fmt.Sprintf("answered %d: ", c.status))
					require.Contains(t, text, told)
					require.NotContains(t, text, "Canary")
					require.NotContains(t, text, "phx_")
					require.NotContains(t, text, "\n")
					require.NotContains(t, text, "\x1b")
					require.Less(t, len(text), 450)
				}
				_, err := client.Import(t.Context(), numbered(1), &hogapi.ImportOptions{ID: "words"}) // without a handler it stops
				var stop *hogapi.StopError
				require.ErrorAs(t, err, &stop)
				requireWords(stop.Error())
				if c.status != 400 && c.status != 413 {
					return
				}
				path := filepath.Join(t.TempDir(), "rejects")
				file := hogapi.RejectFile(path)
				_, err = client.Import(t.Context(), numbered(1), &hogapi.ImportOptions{ID: "words", MaxRejectShare: -1, Rejects: hogapi.RejectFunc(func(ctx context.Context, r hogapi.Reject) error {
					requireWords(r.Err.Error())
					assert.Equal(t, c.status, r.Status)
					return file.Reject(ctx, r)
				})})
				require.NoError(t, err)
				content, err := os.ReadFile(path)
				require.NoError(t, err)
				_, note, _ := strings.Cut(strings.TrimSuffix(string(content), "\n"), `"$reject":`)
				requireWords(note)
			})
		})
	}
}
