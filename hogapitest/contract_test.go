package hogapitest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// The contract is PostHog's published API schema: see testdata/contract/README.md.
type contract struct {
	Operations []operation
	Types      map[string][]field
}

type operation struct {
	Op, Method, Path, Request, Response string
	Query                               []field
	Statuses                            []int
}

type field struct {
	Name, Type, Of, Format string
	Nullable, Required     bool
	ReadOnly               bool  `json:"read_only"`
	WriteOnly              bool  `json:"write_only"`
	Enum                   []any // of texts and numbers
	Min, Max               *float64
	MinLength, MaxLength   int
	Default                any
}

// contracts are the resources by name.
func contracts(t *testing.T) map[string]contract {
	t.Helper()
	all := map[string]contract{}
	files, err := filepath.Glob("testdata/contract/*.json")
	require.NoError(t, err)
	require.Len(t, files, 12)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var c contract
		require.NoError(t, json.Unmarshal(text, &c), file)
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = c
	}
	return all
}

// ours are the types of the client for the types of answers.
var ours = map[string]reflect.Type{
	"batch-exports.BatchExport": reflect.TypeFor[hogapi.BatchExport](), "batch-exports.Destination": reflect.TypeFor[hogapi.Destination](),
	"batch-exports.Run": reflect.TypeFor[hogapi.Run](), "runs.Run": reflect.TypeFor[hogapi.Run](),
	"backfills.Backfill": reflect.TypeFor[hogapi.Backfill](), "backfills.Progress": reflect.TypeFor[hogapi.BackfillProgress](),
	"logs.LogEntry": reflect.TypeFor[hogapi.LogEntry](), "dashboards.DashboardBasic": reflect.TypeFor[hogapi.Dashboard](),
	"dashboards.Dashboard": reflect.TypeFor[hogapi.DashboardDetail](), "dashboards.Tile": reflect.TypeFor[hogapi.DashboardTile](),
	"dashboards.User": reflect.TypeFor[hogapi.User](), "integrations.User": reflect.TypeFor[hogapi.User](),
	"data-deletions.Deletion": reflect.TypeFor[hogapi.DataDeletion](), "destination-tests.Test": reflect.TypeFor[hogapi.DestinationTest](),
	"destination-tests.Step": reflect.TypeFor[hogapi.DestinationTestStep](), "destination-tests.Result": reflect.TypeFor[hogapi.DestinationTestResult](),
	"file-downloads.State": reflect.TypeFor[hogapi.FileDownload](), "file-downloads.ListItem": reflect.TypeFor[hogapi.FileDownload](),
	"ingestion-warnings.Warning": reflect.TypeFor[hogapi.IngestionWarning](), "ingestion-warnings.Point": reflect.TypeFor[hogapi.WarningCount](),
	"ingestion-warnings.Sample": reflect.TypeFor[hogapi.WarningSample](), "integrations.Integration": reflect.TypeFor[hogapi.Integration](),
}

// leftOut are the types of answers that no type of the client is for.
var leftOut = map[string]string{
	"activity-log.Entry": "Coverage reads the log", "activity-log.User": "part of it",
	"backfills.BackfillID": "in a ticket", "runs.BackfillID": "in a ticket", "file-downloads.Created": "Create returns the id", "batch-exports.Paused": "Pause returns an error",
	"backfills.Cancelled": "Cancel returns an error", "runs.Cancelled": "Cancel returns an error", "data-deletions.Count": "Preview returns the number", "file-downloads.Count": "CountRows returns the number",
}

// zeroForNull are fields in which the client has no nil: null is the zero value.
var zeroForNull = map[string]string{
	"batch-exports.BatchExport.timezone": "the service stores UTC for null",
	"batch-exports.Run.batch_export":     "only runs of file downloads have null, which no endpoint lists", "runs.Run.batch_export": "the same",
}

// Every field of an answer can be decoded, with every value that the contract allows, and is exposed.
func TestContractAnswersAreExposed(t *testing.T) {
	for resource, c := range contracts(t) {
		for name := range answers(c) {
			at := resource + "." + name
			typ := ours[at]
			if typ == nil {
				assert.Contains(t, leftOut, at, "no type is for it")
				continue
			}
			for _, f := range c.Types[name] {
				to, ok := fieldOf(typ, f.Name)
				if f.WriteOnly {
					continue
				}
				if !assert.True(t, ok, "%s.%s: %s does not expose it", at, f.Name, typ) {
					continue
				}
				for _, value := range values(c, f, 0) {
					body, err := json.Marshal(map[string]any{f.Name: value})
					require.NoError(t, err)
					whole := reflect.New(typ)
					assert.NoError(t, json.Unmarshal(body, whole.Interface()), "%s.%s: %s", at, f.Name, body)
				}
				if f.Nullable && zeroForNull[at+"."+f.Name] == "" {
					hasNil := slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice}, to.Kind()) || reflect.PointerTo(to).Implements(reflect.TypeFor[interface{ IsNull() bool }]())
					assert.True(t, hasNil, "%s.%s: null and the zero value are the same", at, f.Name)
				}
			}
		}
	}
}

// answers are the types that answers of the resource hold.
func answers(c contract) map[string]bool {
	found := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		if fields, ok := c.Types[name]; ok && !found[name] {
			found[name] = true
			for _, f := range fields {
				add(f.Of)
			}
		}
	}
	for _, o := range c.Operations {
		add(o.Response[strings.Index(o.Response, ":")+1:])
	}
	return found
}

// fieldOf finds the field for a name of JSON, which is in its tag or, without one, its own name.
func fieldOf(typ reflect.Type, name string) (reflect.Type, bool) {
	for _, f := range reflect.VisibleFields(typ) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && !f.Anonymous && (tag == name || tag == "" && strings.EqualFold(f.Name, name)) {
			return f.Type, true
		}
	}
	return nil, false
}

const (
	someUUID = "0190e0a2-0000-7000-8000-00000000000c"
	someTime = "2026-03-04T05:06:07.123456Z"
)

// values are values that a field can have by the contract.
func values(c contract, f field, depth int) (list []any) {
	if f.Nullable {
		list = append(list, nil)
	}
	switch {
	case f.Enum != nil:
		return append(list, f.Enum...)
	case f.Type == "string" && f.Format == "uuid":
		return append(list, someUUID)
	case f.Type == "string" && f.Format == "date-time":
		return append(list, someTime, "2026-03-04T05:06:07Z", "2026-03-04T05:06:07+02:00")
	case f.Type == "string":
		return append(list, "text-ä", strings.Repeat("x", min(max(f.MaxLength, 1), 500)))
	case f.Type == "integer":
		for _, bound := range []*float64{f.Min, f.Max} {
			if bound != nil {
				list = append(list, *bound)
			}
		}
		return append(list, 3)
	case f.Type == "number":
		return append(list, 0.5, 1)
	case f.Type == "boolean":
		return append(list, true, false)
	case f.Type == "object", f.Type == "any":
		return append(list, map[string]any{"k": []any{"v", 1}})
	case f.Type == "array":
		element := field{Type: f.Of}
		if f.Of == "uuid" {
			element = field{Type: "string", Format: "uuid"}
		} else if c.Types[f.Of] != nil {
			element = field{Type: "ref", Of: f.Of}
		}
		list = append(list, []any{})
		if depth < 3 {
			list = append(list, values(c, element, depth+1))
		}
		return list
	case f.Type == "ref" && depth < 3:
		whole := map[string]any{}
		for _, below := range c.Types[f.Of] {
			if !below.WriteOnly {
				all := values(c, below, depth+1)
				whole[below.Name] = all[len(all)-1]
			}
		}
		return append(list, whole)
	}
	return append(list, map[string]any{})
}

// Types of the client that are named texts have a constant for each word of the contract, or the word is left out with a reason.
func TestContractEnumerationsAreComplete(t *testing.T) {
	known := map[string][]string{}
	for _, dir := range []string{"..", "../destination", "../integration"} {
		for typ, words := range constants(t, dir) {
			known[typ] = append(known[typ], words...)
		}
	}
	for resource, c := range contracts(t) {
		for name, fields := range c.Types {
			typ := ours[resource+"."+name]
			for _, f := range fields {
				if typ == nil || f.Enum == nil {
					continue
				}
				to, _ := fieldOf(typ, f.Name)
				if to == nil || to.Kind() != reflect.String || to.Name() == "string" {
					continue // an open text, or a number
				}
				for _, word := range f.Enum {
					if f.Name == "kind" && !slices.Contains(known[to.Name()], word.(string)) {
						continue // of integrations that no export uses: the type is open, and the filter passes them on
					}
					assert.Contains(t, known[to.Name()], word, "%s.%s.%s", resource, name, f.Name)
				}
			}
		}
	}
}

var constant = regexp.MustCompile(`(?m)^\s+\w+\s+(\w+)\s+= "([^"]*)"`)

// constants are the texts of the constants of a package, by their type.
func constants(t *testing.T, dir string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	files, err := filepath.Glob(dir + "/*.go")
	require.NoError(t, err)
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range constant.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = append(found[m[1]], m[2])
		}
	}
	return found
}
