package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	pages "github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/history"
)

// planMark begins the comments of hogimport in a plan. Those of a person stay when the plan is made again.
const planMark = "#:"

// planFile is a plan in its file. Its paths are as the program opens them; the file has them as seen from its own folder.
type planFile struct {
	history.Plan

	path  string
	raw   []byte
	lines map[string]int      // of its keys, such as zone and files.a.jsonl
	notes map[string][]string // comments of a person by the key that they stand at

	reasons map[string]string // those of hogimport

	problems []planProblem
}

// endOfPlan is the place of the comments of a person at the end of a file. Those at its beginning have an empty one.
const endOfPlan = "end"

type planProblem struct {
	line       int
	text, todo string
}

// isPlanPath reports whether an argument names a plan: no file of events has such a name.
func isPlanPath(path string) bool {
	end := strings.ToLower(filepath.Ext(path))
	return end == ".yaml" || end == ".yml"
}

// readPlan reads a plan. Its errors name the lines and the keys.
func readPlan(path string) (*planFile, error) {
	const maxBytes = 64 << 20
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, shell.UsageError(path+": there is no such file", "make a plan: hogimport plan FILES… --write "+shell.Quoted(path))
	case err != nil:
		return nil, shell.UsageError(fmt.Sprintf("%s cannot be read: %v", path, shell.Cause(err)), "check the path")
	case len(text) > maxBytes:
		return nil, notAPlan(path)
	}
	return parsePlan(path, text)
}

func parsePlan(path string, text []byte) (*planFile, error) {
	p := &planFile{path: path, raw: text, lines: map[string]int{}, notes: map[string][]string{}, reasons: map[string]string{}}
	var root, more yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(text))
	if err := documents.Decode(&root); err != nil && !errors.Is(err, io.EOF) {
		return nil, p.badYAML(err)
	}
	if err := documents.Decode(&more); !errors.Is(err, io.EOF) {
		p.wrong(more.Line, "another document begins here", "a file has one plan: remove the line ---, or what is below it")
		return nil, p.fault()
	}
	if len(root.Content) == 0 || root.Content[0].Kind != yaml.MappingNode || !bytes.Contains(text, []byte("\nplan:")) && !bytes.HasPrefix(text, []byte("plan:")) {
		return nil, notAPlan(path)
	}
	p.keep("", &yaml.Node{HeadComment: root.HeadComment})
	p.keep(endOfPlan, &yaml.Node{HeadComment: root.FootComment})
	p.mapping(root.Content[0], "", p.topKeys())
	for i := range p.Files {
		p.Files[i].Path = p.opened(p.Files[i].Path)
	}
	p.State = p.opened(p.State)
	if c := &p.Choices; c.SessionsAfter != "" {
		c.SessionsAfter = p.opened(c.SessionsAfter)
	}
	return p, p.fault()
}

func notAPlan(path string) error {
	return shell.UsageError(path+" is not a plan of hogimport: it has no key plan", "give the file that hogimport plan --write has written")
}

var lineOfYAML = regexp.MustCompile(`^line ([0-9]+): `)

// badYAML explains why a text is not YAML.
func (p *planFile) badYAML(err error) error {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 0
	if found := lineOfYAML.FindStringSubmatch(text); found != nil {
		line, _ = strconv.Atoi(found[1])
		text = text[len(found[0]):]
	}
	p.wrong(line, "this is not YAML: "+text, "correct the line, or make the plan again with hogimport plan")
	return p.fault()
}

func (p *planFile) wrong(line int, text, todo string) {
	p.problems = append(p.problems, planProblem{line, text, todo})
}

// fault has all problems of the file, the first one with its advice.
func (p *planFile) fault() error {
	if len(p.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(p.problems, func(a, b planProblem) int { return cmp.Compare(a.line, b.line) })
	f := &shell.Fault{Code: shell.CodeUsage, Text: p.at(p.problems[0].line) + p.problems[0].text, Todo: p.problems[0].todo}
	for _, other := range p.problems[1:] {
		f.Lines = append(f.Lines, p.at(other.line)+other.text)
	}
	return f
}

// at returns the place of a line for the beginning of a text.
func (p *planFile) at(line int) string {
	if line == 0 {
		return p.path + ": "
	}
	return fmt.Sprintf("%s:%d: ", p.path, line)
}

// opened returns a path of the file as seen from the working folder.
func (p *planFile) opened(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return filepath.FromSlash(path)
	}
	return filepath.Join(filepath.Dir(p.path), filepath.FromSlash(path))
}

// keep keeps the comments of a person at a node.
func (p *planFile) keep(key string, node *yaml.Node) {
	for _, text := range []string{node.HeadComment, node.LineComment, node.FootComment} {
		for line := range strings.Lines(text) {
			line, ours, _ := strings.Cut(line, planMark)
			if ours = strings.TrimSpace(ours); ours != "" {
				p.reasons[key] = strings.TrimSpace(p.reasons[key] + " " + ours)
			}
			if line = strings.TrimSpace(line); line != "" {
				p.notes[key] = append(p.notes[key], line)
			}
		}
	}
}

// keepAll keeps the comments of a person at a node and below it.
func (p *planFile) keepAll(key string, node *yaml.Node) {
	p.keep(key, node)
	for _, inner := range node.Content {
		p.keepAll(key, inner)
	}
}

// A reader reads the value of a key. The place is that of the key, such as project.host.
type reader func(value *yaml.Node, place string)

func (p *planFile) topKeys() map[string]reader {
	keys := map[string]reader{
		"plan": p.number(&p.Version), "import-id": p.text(&p.ID), "state": p.text(&p.State), "mapping": p.number(&p.Mapping),
		"project": func(node *yaml.Node, place string) {
			p.mapping(node, place, map[string]reader{"host": p.text(&p.Project.Host), "id": p.text(&p.Project.ID), "key": p.text(&p.Project.Key)})
		},
		"files": p.each(func(node *yaml.Node, place string) {
			var f history.PlanFile
			p.mapping(node, place, map[string]reader{"path": p.text(&f.Path), "bytes": count(p, &f.Bytes), "sha256": p.text(&f.SHA256), "records": count(p, &f.Records)})
			if f.Path == "" {
				p.wrong(node.Line, "the file has no path", "give its path")
			}
			p.lines["files."+f.Path] = node.Line
			p.keepAll("files."+f.Path, node)
			p.Files = append(p.Files, f)
		}),
		"decide":   p.each(p.decision),
		"expected": func(node *yaml.Node, place string) { p.mapping(node, place, p.expected()) },
	}
	for _, key := range append(p.Choices.Keys(), p.Limits.Keys()...) {
		switch to := key.To.(type) {
		case *string:
			keys[key.Name] = p.text(to)
		case *bool:
			keys[key.Name] = p.truth(to)
		case *[]string:
			keys[key.Name] = p.texts(to)
		}
	}
	return keys
}

func (p *planFile) decision(node *yaml.Node, place string) {
	d, line := history.PlanDecision{}, node.Line
	p.mapping(node, place, map[string]reader{
		"key": p.text(&d.Key), "problem": p.text(&d.Problem), "other": p.text(&d.Other),
		"answers": func(node *yaml.Node, place string) {
			p.pairs(node, place, func(key, value *yaml.Node) {
				a := history.PlanAnswer{Answer: key.Value}
				p.text(&a.Effect)(value, place+"."+key.Value)
				d.Answers = append(d.Answers, a)
			})
		},
		"answer": func(node *yaml.Node, place string) {
			p.text(&d.Answer)(node, place)
			line = node.Line
		},
	})
	p.lines["decide."+d.Key] = line
	p.keepAll("decide."+d.Key, node)
	p.Decide = append(p.Decide, d)
}

func (p *planFile) expected() map[string]reader {
	e := &p.Expected
	return map[string]reader{
		"events": count(p, &e.Events), "rejected": count(p, &e.Rejected), "left-out": count(p, &e.LeftOut), "persons": count(p, &e.Persons), "billed": count(p, &e.Billed),
		"months": p.each(func(node *yaml.Node, place string) {
			var m history.PlanMonth
			p.mapping(node, place, map[string]reader{
				"month": p.text(&m.Month), "events": count(p, &m.Events), "visitors": count(p, &m.Visitors), "views": count(p, &m.Views), "sessions": count(p, &m.Sessions),
			})
			e.Months = append(e.Months, m)
		}),
	}
}

// pairs calls each with the keys and values of a mapping.
func (p *planFile) pairs(node *yaml.Node, place string, each func(key, value *yaml.Node)) {
	if node.Kind != yaml.MappingNode {
		if node.Tag == "!!null" {
			return
		}
		p.wrong(node.Line, shownKey(place)+"want keys with values below it", "see the guide, or make the plan again with hogimport plan")
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		each(node.Content[i], node.Content[i+1])
	}
}

// mapping reads the keys of a mapping, each once.
func (p *planFile) mapping(node *yaml.Node, place string, keys map[string]reader) {
	seen := map[string]int{}
	p.pairs(node, place, func(key, value *yaml.Node) {
		name := key.Value
		read, isKnown := keys[name]
		if first := seen[name]; first > 0 {
			p.wrong(key.Line, fmt.Sprintf("the key %s stands in line %d too", pages.Shown(name), first), "remove one of the two")
			return
		}
		seen[name] = key.Line
		whole := strings.TrimPrefix(place+"."+name, ".")
		if !isKnown {
			p.wrong(key.Line, fmt.Sprintf("the key %s is not known", pages.Shown(whole)), p.similar(name, keys))
			return
		}
		if place == "project" {
			p.lines[whole] = key.Line
		}
		if place == "" {
			p.lines[whole] = key.Line
			p.keep(whole, key)
			if whole == "files" || whole == "decide" { // of which each entry has its own
				p.keep(whole, value)
			} else {
				p.keepAll(whole, value)
			}
		}
		read(value, whole)
	})
}

func (p *planFile) similar(name string, keys map[string]reader) string {
	var names []string
	for key := range keys {
		names = append(names, key)
	}
	slices.Sort(names)
	if found := shell.Similar(name, names); len(found) > 0 {
		return "did you mean " + strings.Join(found, " or ") + "?"
	}
	return "remove it; known are " + strings.Join(names, ", ")
}

// shownKey returns a key for the beginning of a text.
func shownKey(place string) string {
	if place == "" {
		return ""
	}
	return pages.Shown(place) + ": "
}

// each reads the entries of a list.
func (p *planFile) each(read reader) reader {
	return func(node *yaml.Node, place string) {
		if node.Kind != yaml.SequenceNode {
			if node.Tag != "!!null" {
				p.wrong(node.Line, shownKey(place)+"want a list", "begin each entry with a dash")
			}
			return
		}
		for _, entry := range node.Content {
			read(entry, place)
		}
	}
}

func (p *planFile) text(to *string) reader {
	return func(node *yaml.Node, place string) {
		switch {
		case node.Kind != yaml.ScalarNode:
			p.wrong(node.Line, shownKey(place)+"want one value", "write it after the colon, in quotes if it has special characters")
		case node.Tag != "!!null":
			*to = node.Value
		}
	}
}

func (p *planFile) texts(to *[]string) reader {
	return func(node *yaml.Node, place string) {
		if node.Kind == yaml.ScalarNode && node.Tag != "!!null" {
			*to = []string{node.Value}
			return
		}
		p.each(func(node *yaml.Node, place string) {
			var one string
			p.text(&one)(node, place)
			*to = append(*to, one)
		})(node, place)
	}
}

func (p *planFile) truth(to *bool) reader {
	return func(node *yaml.Node, place string) {
		isBool, err := strconv.ParseBool(node.Value)
		if node.Kind != yaml.ScalarNode || err != nil || len(node.Value) == 1 {
			p.wrong(node.Line, fmt.Sprintf("%s%q is neither true nor false", shownKey(place), pages.Shown(node.Value)), "write true or false")
			return
		}
		*to = isBool
	}
}

func (p *planFile) number(to *int) reader {
	return func(node *yaml.Node, place string) {
		var n int64
		count(p, &n)(node, place)
		*to = int(n)
	}
}

func count(p *planFile, to *int64) reader {
	return func(node *yaml.Node, place string) {
		n, err := strconv.ParseInt(node.Value, 10, 64)
		if node.Kind != yaml.ScalarNode || err != nil || n < 0 {
			p.wrong(node.Line, fmt.Sprintf("%s%q is not a number", shownKey(place), pages.Shown(node.Value)), "write a whole number such as 1000, without commas")
			return
		}
		*to = n
	}
}
