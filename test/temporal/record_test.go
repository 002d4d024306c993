package proof

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/encoding/protojson"

	hogtemporal "github.com/hogapi/hogapi/temporal"
)

// record writes the history of an import, as the real server has it, to the folder HOGAPI_RECORD, if that is set: the tests of
// hogtemporal replay the recorded histories of each release.
//
//	HOGAPI_RECORD=$PWD/temporal/testdata go test -C test/temporal -run 'Pause|Missing|Cancel' .
func (s *site) record(id string) {
	folder := os.Getenv("HOGAPI_RECORD")
	if folder == "" {
		return
	}
	var all history.History
	walk := s.client.GetWorkflowHistory(s.t.Context(), hogtemporal.WorkflowID(id), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for walk.HasNext() {
		event, err := walk.Next()
		require.NoError(s.t, err)
		all.Events = append(all.Events, event)
	}
	raw, err := protojson.Marshal(&all)
	require.NoError(s.t, err)
	var text any
	require.NoError(s.t, json.Unmarshal(raw, &text))
	raw, err = json.MarshalIndent(s.anonymous(text), "", " ")
	require.NoError(s.t, err)
	require.NoError(s.t, os.MkdirAll(folder, 0o755))
	require.NoError(s.t, os.WriteFile(filepath.Join(folder, id+".json"), append(raw, '\n'), 0o600))
}

// anonymous replaces the folder of this test, also in payloads.
func (s *site) anonymous(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			text, ok := value.(string)
			if data, err := base64.StdEncoding.DecodeString(text); ok && name == "data" && err == nil {
				v[name] = base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(string(data), s.dir, "/shared")))
				continue
			}
			v[name] = s.anonymous(value)
		}
	case []any:
		for i := range v {
			v[i] = s.anonymous(v[i])
		}
	case string:
		if strings.Contains(v, "@") { // the identity of a client: process and host
			return "client"
		}
		if host, err := os.Hostname(); err == nil { // in the name of a worker's own queue
			if rest, ok := strings.CutPrefix(v, host+":"); ok {
				return "worker:" + rest
			}
		}
		return strings.ReplaceAll(v, s.dir, "/shared")
	}
	return v
}
