// Package page writes the reports of hogimport as HTML pages, in the form that the pages of all commands have.
package page

import (
	"embed"
	"html/template"

	"github.com/hogapi/hogapi/cmd/internal/page"
)

//go:embed check.html web.html verify.html
var files embed.FS

var templates = page.Templates(files, template.FuncMap{"explained": Explained})

func frame(kind, subject string) page.Frame {
	return page.Frame{Program: "hogimport", Kind: kind, Subject: subject}
}
