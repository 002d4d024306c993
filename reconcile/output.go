package reconcile

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/mask"
)

// listed are the classes with a file of uuids each.
var listed = []Class{Missing, Pending, Collapsed, Replaced, Altered, Doubled, OnlyThere, CannotTell}

// kind marks a report of this package.
const kind = "hogapi reconcile report"

const (
	reportJSON   = "report.json"
	reportText   = "report.txt"
	reportHTML   = "report.html"
	combinedName = "differences.jsonl"
)

// WriteFiles writes the report into a folder: report.json, report.txt, report.html, which needs no network, a file of uuids
// for each class, such as missing.uuids, one in a line, and differences.jsonl with all of them. It replaces the files of an
// earlier report there, and refuses a folder in which a file of such a name is of somebody else. The files are for this user
// only, since they name events and persons.
func (r *Report) WriteFiles(dir string) error {
	disk := durable.OS{}
	if err := disk.MakeFolder(dir); err != nil {
		return fmt.Errorf("reconcile: the folder of the report: %w", err)
	}
	lock, err := disk.Lock(filepath.Join(dir, reportJSON+".lock"))
	if err != nil {
		return fmt.Errorf("reconcile: the folder of the report: %w", err)
	}
	defer lock.Close()
	contents, err := r.files()
	if err != nil {
		return err
	}
	names := []string{reportJSON} // first: it marks the folder
	for name := range contents {
		if name != reportJSON {
			names = append(names, name)
		}
	}
	slices.Sort(names[1:])
	if err := checkOwn(dir, names); err != nil {
		return err
	}
	for _, name := range names {
		if err := durable.Replace(disk, filepath.Join(dir, name), contents[name]); err != nil {
			return fmt.Errorf("reconcile: %s: %w", name, err)
		}
	}
	return nil
}

// checkOwn refuses a folder with files of these names that no report has written.
func checkOwn(dir string, names []string) error {
	text, err := os.ReadFile(filepath.Join(dir, reportJSON)) //nolint:gosec // the caller names the folder
	if err == nil {
		var is struct{ Kind string }
		if json.Unmarshal(text, &is) == nil && is.Kind == kind {
			return nil
		}
	}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("reconcile: %s exists and is not part of a report: give another folder", name)
		}
	}
	return nil
}

// files are the contents by name.
func (r *Report) files() (map[string][]byte, error) {
	text, err := json.MarshalIndent(struct {
		Kind string `json:"kind"`
		*Report
	}{kind, r}, "", "  ")
	if err != nil {
		return nil, err
	}
	page, err := r.HTML()
	if err != nil {
		return nil, err
	}
	contents := map[string][]byte{reportJSON: append(text, '\n'), reportText: []byte(r.String() + "\n"), reportHTML: page}
	lists := map[Class]*bytes.Buffer{}
	for _, class := range listed {
		lists[class] = &bytes.Buffer{}
	}
	var combined bytes.Buffer
	out := json.NewEncoder(&combined)
	for _, f := range r.Findings {
		if err := out.Encode(f); err != nil {
			return nil, err
		}
		if list := lists[f.Class]; list != nil {
			fmt.Fprintln(list, f.UUID)
		}
	}
	for class, list := range lists {
		contents[string(class)+".uuids"] = list.Bytes()
	}
	contents[combinedName] = combined.Bytes()
	return contents, nil
}

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": number, "clock": func(t time.Time) string { return t.UTC().Format(clock) },
	"line": func(s string) string { return mask.OneLine(s) },
}).Parse(pageText))

// HTML returns the report as one page that loads nothing from the network. It shows up to 200 differences of each class.
func (r *Report) HTML() ([]byte, error) {
	var b bytes.Buffer
	if err := page.Execute(&b, r.view()); err != nil {
		return nil, fmt.Errorf("reconcile: the page: %w", err)
	}
	return b.Bytes(), nil
}

// pageView is the data of the page.
type pageView struct {
	*Report

	Level, Title, Text string
	Columns            []Class
	Facts              []fact
	Spans              []lineOfPage
	Groups             []group
}

type fact struct{ Name, Value, Note string }

// lineOfPage is a line of the table.
type lineOfPage struct {
	spanOfDays
	Counts []cellOfPage
}

type cellOfPage struct {
	Class  Class
	Text   string
	IsZero bool
}

// group has the findings of a class.
type group struct {
	Class    Class
	Meaning  string
	Rows     int64
	Findings []Finding
	More     int
}

var meanings = map[Class]string{
	Missing:    "These rows are in PostHog, an export should have sent them, and they are not in the destination.",
	CannotTell: "These rows could not be compared. Each has its reason.",
	OnlyThere:  "These rows are in the destination and not in PostHog: a person or an event was deleted, or they are of another project.",
	Doubled:    "The destination has these rows more than once.",
	Altered:    "The destination has these rows with another name, distinct id or day.",
	Collapsed:  "PostHog has the same uuid, name and distinct id on another day too. An export sends such rows once.",
	Replaced:   "Another row with the same uuid is in their place, since the table keeps one row per uuid. Exporting again does not change that.",
	Pending:    "These rows arrived after the newest interval that is exported. They are not late yet.",
}

func (r *Report) view() pageView {
	v := pageView{Report: r}
	missing := number(r.Counts[Missing])
	switch r.Verdict {
	case Complete:
		v.Level, v.Title, v.Text = "good", "The destination is complete", "Every row that the exports send is there once, as PostHog has it."
	case CompleteWithDifferences:
		v.Level, v.Title = "warn", "No row is missing, but rows differ"
		v.Text = "Every row that the exports send is there, or another with its uuid. Some are there twice, altered, or unknown to PostHog."
	case Incomplete:
		v.Level, v.Title, v.Text = "bad", missing+" rows are missing", "They are in PostHog, and an export should have sent them."
		if r.Counts[Missing] == 1 {
			v.Title, v.Text = "1 row is missing", "It is in PostHog, and an export should have sent it."
		}
	case Undecided:
		v.Level, v.Title, v.Text = "warn", "Cannot tell", "No row is known to be missing, but some rows could not be compared."
	}
	v.Facts = []fact{
		{"Delivered", number(r.Counts[Delivered]), "rows are there, unaltered"},
		{"Missing", missing, "rows are not there"},
		{"Cannot tell", number(r.Counts[CannotTell]), "rows could not be compared"},
		{"Left out on purpose", number(r.Counts[Filtered] + r.Counts[NeverAsked]), "by a filter, or by the time of the exports"},
	}
	v.Columns = r.columns()
	for _, span := range r.spans() {
		line := lineOfPage{spanOfDays: span}
		for _, class := range v.Columns {
			line.Counts = append(line.Counts, cellOfPage{class, number(span.counts[class]), span.counts[class] == 0})
		}
		v.Spans = append(v.Spans, line)
	}
	for _, class := range slices.Backward(listed) {
		v.addGroup(class)
	}
	slices.Reverse(v.Groups)
	return v
}

func (v *pageView) addGroup(class Class) {
	const most = 200
	g := group{Class: class, Meaning: meanings[class]}
	for _, f := range v.Findings {
		if f.Class != class {
			continue
		}
		g.Rows += f.Rows
		if len(g.Findings) < most {
			g.Findings = append(g.Findings, f)
		} else {
			g.More++
		}
	}
	if len(g.Findings) > 0 {
		v.Groups = append(v.Groups, g)
	}
}

// Spelled says a class for a reader.
func (g group) Spelled() string {
	text := g.Class.String()
	return strings.ToUpper(text[:1]) + text[1:]
}
