package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	pages "github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/durable"
)

// planText writes a plan with comments.
type planText struct {
	to      *planFile         // its path decides how paths are written
	head    []string          // the first comments
	reasons map[string]string // comments by the keys that they stand at
	b       strings.Builder
}

// String returns the text of the plan.
func (w *planText) String() string {
	w.b.Reset()
	p := w.to
	for _, line := range w.head {
		fmt.Fprintf(&w.b, "%s %s\n", planMark, line)
	}
	w.own("", "")
	w.b.WriteString("\n")
	w.entry("plan", strconv.Itoa(p.Version))
	w.entry("import-id", scalar(p.ID))
	w.entry("state", scalar(w.written(p.State)))
	if p.Mapping != 0 {
		w.entry("mapping", strconv.Itoa(p.Mapping))
	}
	if project := p.Project; project != (history.PlanProject{}) {
		w.section("project")
		for _, pair := range [][2]string{{"host", project.Host}, {"id", project.ID}, {"key", project.Key}} {
			if pair[1] != "" {
				w.line("  ", pair[0]+": "+scalar(pair[1]), w.reasons["project."+pair[0]])
			}
		}
	}
	w.section("files")
	for _, f := range p.Files {
		place := "files." + w.written(f.Path)
		w.own("  ", place)
		pairs := []string{"path", w.written(f.Path), "bytes", strconv.FormatInt(f.Bytes, 10), "sha256", f.SHA256}
		if f.Records > 0 {
			pairs = append(pairs, "records", strconv.FormatInt(f.Records, 10))
		}
		w.line("  ", "- "+flow(pairs...), w.reasons[place])
	}
	w.b.WriteString("\n")
	w.keys(p.Choices.Keys())
	w.b.WriteString("\n")
	w.keys(p.Limits.Keys())
	w.decisions()
	w.outcome()
	w.rest()
	return w.b.String()
}

// written returns a path as the file has it.
func (w *planText) written(path string) string {
	if path == "" {
		return ""
	}
	if rel, err := filepath.Rel(absolute(filepath.Dir(w.to.path)), absolute(path)); err == nil {
		path = rel
	}
	return filepath.ToSlash(path)
}

// own writes the comments of a person that stand at a key, once.
func (w *planText) own(indent, key string) {
	for _, line := range w.to.notes[key] {
		w.b.WriteString(indent + line + "\n")
	}
	delete(w.to.notes, key)
}

// line writes an entry with its comment: behind it, or before it where there is no room.
func (w *planText) line(indent, entry, reason string) {
	const width = 120
	lines := strings.Split(entry, "\n")
	if reason = strings.Join(strings.Fields(reason), " "); reason != "" {
		reason = pages.Shown(reason)
	}
	behind := "  " + planMark + " " + reason
	switch {
	case reason == "":
		behind = ""
	case len(lines) > 1 || len([]rune(indent+entry+behind)) > width:
		behind = ""
		for part := range strings.SplitSeq(term.Wrapped(reason, width-len(indent)-len(planMark)-1), "\n") {
			fmt.Fprintf(&w.b, "%s%s %s\n", indent, planMark, part)
		}
	}
	w.b.WriteString(indent + strings.Join(lines, "\n"+indent) + behind + "\n")
}

func (w *planText) entry(key, value string) {
	w.own("", key)
	w.line("", key+": "+value, w.reasons[key])
}

// section begins a key with entries below it.
func (w *planText) section(key string) {
	w.b.WriteString("\n")
	w.own("", key)
	if reason := w.reasons[key]; reason != "" {
		fmt.Fprintf(&w.b, "%s %s\n", planMark, pages.Shown(reason))
	}
	w.b.WriteString(key + ":\n")
}

// keys writes the choices or limits that say something, or that have a reason.
func (w *planText) keys(keys []history.PlanKey) {
	for _, key := range keys {
		switch to := key.To.(type) {
		case *string:
			if *to == "" {
				continue
			}
			value := scalar(*to)
			if key.Name == "sessions-after" {
				value = scalar(w.written(*to))
			}
			w.entry(key.Name, value)
		case *bool:
			if *to || w.reasons[key.Name] != "" {
				w.entry(key.Name, strconv.FormatBool(*to))
			}
		case *[]string:
			if len(*to) == 0 {
				continue
			}
			w.own("", key.Name)
			lines := []string{key.Name + ":"}
			for _, one := range *to {
				lines = append(lines, "  - "+scalar(one))
			}
			w.line("", strings.Join(lines, "\n"), w.reasons[key.Name])
		}
	}
}

func (w *planText) decisions() {
	if len(w.to.Decide) == 0 {
		return
	}
	w.section("decide")
	for _, d := range w.to.Decide {
		w.own("  ", "decide."+d.Key)
		fmt.Fprintf(&w.b, "  - key: %s\n    problem: %s\n    answers:\n", scalar(d.Key), scalar(d.Problem))
		for _, a := range d.Answers {
			fmt.Fprintf(&w.b, "      %s: %s\n", scalar(a.Answer), scalar(a.Effect))
		}
		if d.Other != "" {
			fmt.Fprintf(&w.b, "    other: %s\n", scalar(d.Other))
		}
		answer := ""
		if d.Answer != "" {
			answer = " " + scalar(d.Answer)
		}
		reason := ""
		if d.IsOpen() {
			reason = "write one of the answers here"
		}
		w.line("    ", "answer:"+answer, reason)
	}
}

func (w *planText) outcome() {
	e := &w.to.Expected
	w.section("expected")
	for _, pair := range []struct {
		key string
		n   int64
	}{{"events", e.Events}, {"rejected", e.Rejected}, {"left-out", e.LeftOut}, {"persons", e.Persons}, {"billed", e.Billed}} {
		w.line("  ", fmt.Sprintf("%s: %d", pair.key, pair.n), w.reasons["expected."+pair.key])
	}
	if len(e.Months) == 0 {
		return
	}
	w.line("  ", "months:", w.reasons["expected.months"])
	for _, m := range e.Months {
		n := func(n int64) string { return strconv.FormatInt(n, 10) }
		w.line("    ", "- "+flow("month", m.Month, "events", n(m.Events), "visitors", n(m.Visitors), "views", n(m.Views), "sessions", n(m.Sessions)), "")
	}
}

// rest writes the comments of a person at keys that the plan no longer has, and those at the end.
func (w *planText) rest() {
	end := w.to.notes[endOfPlan]
	delete(w.to.notes, endOfPlan)
	var lost []string
	for key := range w.to.notes {
		lost = append(lost, key)
	}
	slices.Sort(lost)
	for _, key := range lost {
		for _, line := range w.to.notes[key] {
			end = append(end, "# (at "+pages.Shown(key)+") "+strings.TrimSpace(strings.TrimPrefix(line, "#")))
		}
	}
	if len(end) > 0 {
		w.b.WriteString("\n" + strings.Join(end, "\n") + "\n")
	}
}

// scalar returns a text as a value of YAML on one line: numbers and times without quotes, since they are read as they stand.
func scalar(text string) string {
	var read yaml.Node
	if err := yaml.Unmarshal([]byte("x: "+text), &read); err == nil && len(read.Content) == 1 && len(read.Content[0].Content) == 2 {
		if one := read.Content[0].Content[1]; one.Kind == yaml.ScalarNode && one.Style == 0 && one.Value == text && slices.Contains([]string{"!!int", "!!float", "!!timestamp"}, one.Tag) {
			return text
		}
	}
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '\u0085' || r == '\u2028' || r == '\u2029' }) {
		node.Style = yaml.DoubleQuotedStyle
	}
	out, err := yaml.Marshal(node)
	if err != nil {
		return strconv.Quote(text)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// flow returns keys and values as a mapping of YAML on one line.
func flow(pairs ...string) string {
	node := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	for _, text := range pairs {
		one := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			one.Tag = "!!int"
		}
		node.Content = append(node.Content, one)
	}
	out, err := yaml.Marshal(node)
	if err != nil {
		return "{}"
	}
	return strings.TrimSuffix(string(out), "\n")
}

var firstKeyOfPlan = regexp.MustCompile(`(?m)^plan: *[0-9]+\s`)

// planOutput is the file of a plan, which replaces no other file.
func planOutput(path string) shell.Output {
	return shell.Output{Flag: "--write", Path: path, Kind: "plan of hogimport", IsOurs: firstKeyOfPlan.Match}
}

// save replaces the file of a plan as a whole, once it reads back as the same plan. The old text is that of the file when it
// was read.
func (w *planText) save(old []byte, inputs []string) error {
	path, text := w.to.path, w.String()
	if err := planOutput(path).Check(inputs); err != nil {
		return err
	}
	if now, err := os.ReadFile(path); err == nil && !bytes.Equal(now, old) {
		return &shell.Fault{Code: shell.CodeOther, Text: path + " has changed while the files were read, and was not replaced", Todo: "run the same command again"}
	}
	read, err := parsePlan(path, []byte(text))
	if err == nil && !reflect.DeepEqual(read.absolutes(), w.to.absolutes()) {
		err = &shell.Fault{Code: shell.CodeOther, Text: path + ": the plan cannot be written as YAML: a name in it has characters that YAML does not keep",
			Todo: "rename the files, or import them with hogimport run and its flags"}
	}
	if err != nil {
		return err
	}
	if err := durable.Replace(durable.OS{}, path, []byte(text)); err != nil {
		return &shell.Fault{Code: shell.CodeOther, Text: fmt.Sprintf("the plan %s cannot be written: %v", path, shell.Cause(err)), Err: err,
			Todo: "give a path that can be written with --write FILE"}
	}
	return nil
}

// absolutes returns the plan with absolute paths.
func (p *planFile) absolutes() history.Plan {
	plan := p.Plan
	plan.Files = slices.Clone(plan.Files)
	for i := range plan.Files {
		plan.Files[i].Path = absolute(plan.Files[i].Path)
	}
	plan.State = absolute(plan.State)
	if plan.Choices.SessionsAfter != "" {
		plan.Choices.SessionsAfter = absolute(plan.Choices.SessionsAfter)
	}
	return plan
}
