package history_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/hogapi/hogapi/history"
)

// A plan is made once, read by a person, and checked before the import that follows it.
func ExamplePlan() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "plan")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	events := filepath.Join(dir, "events.jsonl")
	_ = os.WriteFile(events, []byte(`{"event":"visit","distinct_id":"p1","timestamp":"2024-01-01T00:00:00Z"}`+"\n"), 0o600)

	files, err := history.PlanFiles(ctx, nil, events)
	if err != nil {
		log.Fatal(err)
	}
	made, err := json.Marshal(history.Plan{
		Version: history.PlanVersion, ID: "visits-2024", Files: files,
		Choices: history.Choices{Format: "jsonl"}, Limits: history.PlanLimits{MaxRejects: "none"},
		Decide: []history.PlanDecision{{Key: "until", Problem: "The project has events of its own", Answers: []history.PlanAnswer{{Answer: "2024-02-01", Effect: "earlier events only"}}}},
	})
	if err != nil {
		log.Fatal(err)
	}

	var plan history.Plan
	if err := json.Unmarshal(made, &plan); err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Check())
	plan.Decide[0].Answer = "2024-02-01"
	changes, err := plan.Changes(ctx, nil)
	fmt.Println(plan.Check(), changes, err)
	decided := plan.Decided()
	options, err := decided.Options() // for history.Import, with a checkpoint
	fmt.Println(decided.Choices.Until, options.ID, options.MaxRejectShare, err)
	// Output:
	// hogapi: import: decide.until: want an answer: 2024-02-01
	// <nil> [] <nil>
	// 2024-02-01 visits-2024 -1 <nil>
}
