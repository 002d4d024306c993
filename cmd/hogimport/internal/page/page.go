// Package page writes the reports of hogimport as HTML pages. A page is one file with its style and charts. It
// has no script, and its Content-Security-Policy keeps a browser from loading anything. It fits light and dark
// screens, phones and paper. Texts from files are escaped: invisible characters are shown as codes, and
// PostHog's keys are left out.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"reflect"

	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/term"
)

//go:embed page.html check.html web.html verify.html
var files embed.FS

//go:embed page.css
var style string

// policy lets a browser use the page's own style and nothing else.
var policy = func() string {
	digest := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) +
		"'; base-uri 'none'; form-action 'none'"
}()

var templates = template.Must(template.New("page").Funcs(template.FuncMap{
	"count": func(n any) string { return Count(reflect.ValueOf(n).Int()) }, "shown": func(s any) string { return Shown(fmt.Sprint(s)) },
	"share": Share, "pretty": pretty, "moment": moment, "plural": plural, "pluralInt": func(n int, one, several string) string { return plural(int64(n), one, several) }, "sentence": Sentence, "explained": Explained, "span": progress.Words,
}).ParseFS(files, "*.html"))

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

type fact struct {
	Name, Value, Note string
	Level             Level // Good, Warn or Bad color the value
}

// frame is the part that all pages have, in addition to the fields At, Version and Next of their content.
type frame struct {
	Kind     string // in the title
	Subject  string
	Facts    []fact
	Findings []Finding
}

// CSS and Policy are for the template.
func (frame) CSS() template.CSS { return template.CSS(style) }
func (frame) Policy() string    { return policy }

// write writes a page as a whole, or nothing if it fails.
func write(w io.Writer, name string, view any) error {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, view); err != nil {
		return fmt.Errorf("the page: %w", err)
	}
	_, err := io.WriteString(w, term.Clean(b.String())) // foreign text can be anywhere in it
	return err
}
