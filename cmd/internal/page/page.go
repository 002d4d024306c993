// Package page writes the reports of the commands as HTML pages. A page is one file with its style and charts. It
// has no script, and its Content-Security-Policy keeps a browser from loading anything. It fits light and dark
// screens, phones and paper. Texts from files are escaped: invisible characters are shown as codes, and
// PostHog's keys are left out.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"reflect"

	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/term"
)

//go:embed page.html
var head string

//go:embed page.css
var style string

// policy lets a browser use the page's own style and nothing else.
var policy = func() string {
	digest := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) +
		"'; base-uri 'none'; form-action 'none'"
}()

// funcs are for all templates.
var funcs = template.FuncMap{
	"count": func(n any) string { return Count(reflect.ValueOf(n).Int()) }, "shown": func(s any) string { return Shown(fmt.Sprint(s)) },
	"share": Share, "pretty": Pretty, "moment": Moment, "plural": Plural,
	"pluralInt": func(n int, one, several string) string { return Plural(int64(n), one, several) }, "sentence": Sentence, "span": progress.Words,
}

// Templates returns the templates that all pages have and the templates of some files, with further functions.
func Templates(files fs.FS, more template.FuncMap) *template.Template {
	return template.Must(template.Must(template.New("page").Funcs(funcs).Funcs(more).Parse(head)).ParseFS(files, "*.html"))
}

// Level says how much a finding matters.
type Level string

// The levels, from the best to the worst.
const (
	Good Level = "good"
	Info Level = "info"
	Warn Level = "warn"
	Bad  Level = "bad"
)

// Word returns the level as a word, for readers who do not see its color.
func (l Level) Word() string {
	return map[Level]string{Good: "OK", Info: "Note", Warn: "Warning", Bad: "Problem"}[l]
}

// Finding is a line at the top of a page.
type Finding struct {
	Level  Level
	Title  string
	Text   string
	Anchor string // the section that has more
}

// Verdict is the first line of a page.
type Verdict struct {
	Level Level
	Title string
	Text  string
}

// NewFinding returns a finding.
func NewFinding(level Level, title, text, anchor string) Finding {
	return Finding{Level: level, Title: title, Text: text, Anchor: anchor}
}

// NewVerdict returns a verdict.
func NewVerdict(level Level, title, text string) Verdict {
	return Verdict{Level: level, Title: title, Text: text}
}

// Fact is a number at the top of a page.
type Fact struct {
	Name, Value, Note string
	Level             Level // Good, Warn or Bad color the value
}

// Frame is the part that all pages have, in addition to the fields At, Version, Verdict and Next of their content.
type Frame struct {
	Program  string
	Kind     string // in the title
	Subject  string
	Facts    []Fact
	Findings []Finding
}

// CSS returns the style, for the template.
func (Frame) CSS() template.CSS { return template.CSS(style) }

// Policy returns the Content-Security-Policy, for the template.
func (Frame) Policy() string { return policy }

// Write writes a page as a whole, or nothing if it fails.
func Write(w io.Writer, templates *template.Template, name string, view any) error {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, view); err != nil {
		return fmt.Errorf("the page: %w", err)
	}
	_, err := io.WriteString(w, term.Clean(b.String())) // foreign text can be anywhere in it
	return err
}
