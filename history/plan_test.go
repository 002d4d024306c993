package history_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
)

func TestLimitsOfAPlan(t *testing.T) {
	t.Parallel()
	of := func(l history.PlanLimits) (*history.Options, error) { return history.Plan{Limits: l}.Options() }
	for text, want := range map[string][2]float64{"": {0, 0}, "1%": {0.01, 0}, "0.5%": {0.005, 0}, "100%": {1, 0}, "500": {-1, 500}, "none": {-1, 0}} {
		o, err := of(history.PlanLimits{MaxRejects: text})
		require.NoError(t, err)
		assert.Equal(t, want, [2]float64{o.MaxRejectShare, float64(o.MaxRejects)}, text)
	}
	o, err := of(history.PlanLimits{Rate: "none", Protocol: "v1", MaxOutage: "10s"})
	require.NoError(t, err)
	assert.Equal(t, hogapi.RateUnlimited, o.Rate)
	assert.Equal(t, hogapi.Protocol("v1"), o.Delivery.Protocol)
	assert.Equal(t, []time.Duration{10 * time.Second, 10 * time.Second}, []time.Duration{o.Delivery.GiveUpAfter, o.Delivery.UnreachableAfter})
	for _, bad := range []history.PlanLimits{
		{MaxRejects: "0"}, {MaxRejects: "-1"}, {MaxRejects: "0%"}, {MaxRejects: "101%"}, {MaxRejects: "NaN%"}, {MaxRejects: "Inf%"}, {MaxRejects: "1.5"}, {MaxRejects: "%"},
		{Rate: "0"}, {Rate: "fast"}, {Protocol: "v9"}, {MaxOutage: "1ms"}, {MaxOutage: "soon"},
	} {
		_, err := of(bad)
		assert.ErrorIs(t, err, hogapi.ErrInvalid, "%+v", bad)
	}
}

// A plan with an open decision cannot be run, and an answer takes the place of what it decides.
func TestAnswersOfAPlan(t *testing.T) {
	t.Parallel()
	plan := history.Plan{
		Version: history.PlanVersion, ID: "x", Files: []history.PlanFile{{Path: "a"}},
		Decide: []history.PlanDecision{
			{Key: "zone", Other: "the name of a zone", Answers: []history.PlanAnswer{{Answer: "UTC"}}},
			{Key: "links", Answers: []history.PlanAnswer{{Answer: "true"}, {Answer: "false"}}},
		},
	}
	err := plan.Check()
	require.ErrorIs(t, err, hogapi.ErrInvalid)
	assert.Equal(t, "hogapi: import: decide.zone: want an answer: UTC, or the name of a zone\nhogapi: import: decide.links: want an answer: true, or false", err.Error())
	plan.Decide[0].Answer, plan.Decide[1].Answer = "US/Pacific", "perhaps"
	assert.EqualError(t, plan.Check(), `hogapi: import: decide.links "perhaps": want an answer: true, or false`)
	plan.Decide[1].Answer = "true"
	require.NoError(t, plan.Check())
	decided := plan.Decided()
	assert.Equal(t, history.Choices{Zone: "US/Pacific", Links: true}, decided.Choices)
	assert.Zero(t, plan.Choices, "the plan stays as it was")
	assert.Equal(t, []string{"zone", "links"}, decided.Choices.Differences(&plan.Choices))

	for want, change := range map[string]func(*history.Plan){
		"plan":       func(p *history.Plan) { p.Version = history.PlanVersion + 1 },
		"import-id":  func(p *history.Plan) { p.ID = "" },
		"files":      func(p *history.Plan) { p.Files = nil },
		"max-outage": func(p *history.Plan) { p.Limits.MaxOutage = "x" },
	} {
		other := plan
		change(&other)
		assert.ErrorContains(t, other.Check(), "import: "+want, want)
	}
}

// A file that has changed is found, even if its size is the same.
func TestFilesOfAPlan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	var plan history.Plan
	var read int64
	var err error
	plan.Files, err = history.PlanFiles(t.Context(), func(n int64) { read = n }, write("same", "one"), write("grown", "one"), write("edited", strings.Repeat("x", 1<<20)+"a"), write("gone", "x"))
	require.NoError(t, err)
	assert.EqualValues(t, 7+1+1<<20, read)
	changes, err := plan.Changes(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, changes)

	write("grown", "one two")
	write("edited", strings.Repeat("x", 1<<20)+"b")
	require.NoError(t, os.Remove(filepath.Join(dir, "gone")))
	changes, err = plan.Changes(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, changes, 3)
	assert.True(t, strings.HasSuffix(changes[0].String(), "grown: 3 bytes in the plan, 7 now"), changes[0])
	assert.Regexp(t, `edited: another content of the same size: sha256 [0-9a-f]{12}… in the plan, [0-9a-f]{12}… now$`, changes[1].String())
	assert.True(t, strings.HasSuffix(changes[2].String(), "gone: the file is gone"), changes[2])

	_, err = history.PlanFiles(t.Context(), nil, filepath.Join(dir, "gone"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// Each choice has a key, and keys name different fields.
func TestKeysOfAPlan(t *testing.T) {
	t.Parallel()
	var plan history.Plan
	names := map[string]bool{}
	for i, key := range append(plan.Choices.Keys(), plan.Limits.Keys()...) {
		assert.False(t, names[key.Name], key.Name)
		names[key.Name] = true
		switch to := key.To.(type) {
		case *string:
			assert.Empty(t, *to, "%s has a field of its own", key.Name)
			*to = string(rune('a' + i))
		case *bool:
			assert.False(t, *to, "%s has a field of its own", key.Name)
			*to = true
		case *[]string:
			assert.Empty(t, *to, "%s has a field of its own", key.Name)
			*to = []string{key.Name}
		}
	}
	for _, part := range []any{plan.Choices, plan.Limits} {
		text, err := json.Marshal(part)
		require.NoError(t, err)
		var fields map[string]any
		require.NoError(t, json.Unmarshal(text, &fields))
		for name := range fields {
			assert.NotEmpty(t, fields[name], "no key is for %s", name)
		}
	}
	assert.Equal(t, len(names), 37)
}
