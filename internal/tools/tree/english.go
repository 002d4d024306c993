package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// unplain are words that a reader stumbles over, with what to write instead.
var unplain = []struct {
	word    *regexp.Regexp
	instead string
}{
	{words(`mend(s|ed|ing)?`), "fix"},
	{words(`anew`), "again"},
	{words(`heed(s|ed|ing)?`), "obey"},
	{words(`shall`), "must or will"},
	{words(`goes on`), "continues or resumes"},
	{words(`beside`), "with, next to or in addition to"},
	{words(`for ever`), "forever"},
	{words(`without a word`), "silently"},
	{words(`looks? whether`), "check whether"},
	{words(`(what|there) is none`), "the noun"},
	{words(`(is|are) no JSON`), "is not JSON"},
	{words(`the specification`), "PostHog's API reference"},
	{words(`[TK]\d+–[TK]?\d+`), "what they are"},
}

func words(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b` + pattern + `\b`) }

const (
	widest        = 120
	widestComment = 100
)

var webAddress = regexp.MustCompile(`https?://[^\s)]+`)

// english checks the words and the line length of what users read: documents, examples, the doc comments
// of exported names, and the texts of errors.
func english(file string, text []byte) []string {
	c := check{file: file}
	switch path.Ext(file) {
	case ".md":
		if isPage(file) {
			c.page(string(text))
		}
	case ".go":
		c.code(string(text))
	}
	slices.SortStableFunc(c.found, func(a, b problem) int { return cmp.Compare(a.line, b.line) })
	var all []string
	for _, p := range c.found {
		all = append(all, fmt.Sprintf("%s:%d: %s", file, p.line, p.text))
	}
	return all
}

// isPage reports whether a document is for users or contributors. A changelog's old entries stay as they were.
func isPage(file string) bool {
	return !strings.Contains(file, "/") && file != "CHANGELOG.md" ||
		strings.HasPrefix(file, "docs/") || strings.HasPrefix(file, "examples/")
}

type problem struct {
	line int
	text string
}

type check struct {
	file  string
	found []problem
}

func (c *check) report(line int, format string, args ...any) {
	c.found = append(c.found, problem{line, fmt.Sprintf(format, args...)})
}

// page checks a document. Rows of tables may be wide, and code has words of its own.
func (c *check) page(text string) {
	n, code := 0, false
	for line := range strings.Lines(text) {
		n++
		if !strings.HasPrefix(line, "|") {
			c.width(n, webAddress.ReplaceAllString(line, ""), widest)
		}
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if !code {
			c.words(n, line)
		}
	}
}

func (c *check) width(n int, line string, most int) {
	if wide := utf8.RuneCountInString(strings.TrimRight(line, "\r\n")); wide > most {
		c.report(n, "%d columns: want at most %d", wide, most)
	}
}

func (c *check) words(n int, line string) {
	line = inlineCode.ReplaceAllString(line, "")
	for _, u := range unplain {
		if m := u.word.FindString(line); m != "" {
			c.report(n, "%q: write %s", m, u.instead)
		}
	}
}

// code checks an example as a whole, the doc comments of exported names, and everywhere the texts of
// errors.
func (c *check) code(text string) {
	if strings.HasSuffix(c.file, "_test.go") {
		return
	}
	example := strings.HasPrefix(c.file, "examples/")
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, c.file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return // the compiler says so
	}
	c.texts(files, tree)
	if !example && !isPublic(c.file) {
		return
	}
	comments := documented(tree)
	if example {
		comments = tree.Comments
		n := 0
		for line := range strings.Lines(text) {
			n++
			most := widest
			if strings.HasPrefix(line, "//") {
				most = widestComment
			}
			c.width(n, line, most)
		}
	}
	for _, group := range comments {
		for _, comment := range group.List {
			c.words(files.Position(comment.Pos()).Line, comment.Text)
		}
	}
}

// wordy are the fields of the types that refuse something, which users read.
var wordy = map[string]bool{"Want": true, "Reason": true, "reason": true, "Alternative": true}

// texts checks what errors say: the texts in calls of functions whose names have to do with errors and
// notes, and in the fields of refusals.
func (c *check) texts(files *token.FileSet, tree *ast.File) {
	literals := func(in ast.Node) {
		ast.Inspect(in, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				c.words(files.Position(text.Pos()).Line, text.Value[1:len(text.Value)-1])
			}
			return true
		})
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if errorMaker.MatchString(nameOf(n.Fun)) {
				for _, arg := range n.Args {
					literals(arg)
				}
				return false
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && wordy[key.Name] {
				literals(n.Value)
				return false
			}
		}
		return true
	})
}

// errorMaker is what functions are called that make errors of their arguments.
var errorMaker = regexp.MustCompile(`^(errors\.New|(fmt|errtext)\.Errorf|bad|problem|note|refuse|stop|unfit|[Uu]nfit.*|.*[Ee]rror)$`)

func nameOf(fun ast.Expr) string {
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if of, ok := f.X.(*ast.Ident); ok && (of.Name == "errors" || of.Name == "fmt" || of.Name == "errtext") {
			return of.Name + "." + f.Sel.Name
		}
		return f.Sel.Name
	}
	return ""
}

// isPublic reports whether a file can be a part of a package for users.
func isPublic(file string) bool {
	inPackage := !strings.Contains(file, "/") || strings.HasPrefix(file, "hogapitest/")
	return inPackage && !strings.HasSuffix(file, "_test.go")
}

// documented are the doc comments of a package and of its exported names, fields and methods.
func documented(file *ast.File) (docs []*ast.CommentGroup) {
	add := func(groups ...*ast.CommentGroup) {
		for _, g := range groups {
			if g != nil {
				docs = append(docs, g)
			}
		}
	}
	add(file.Doc)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				add(d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if !s.Name.IsExported() {
						continue
					}
					add(d.Doc, s.Doc, s.Comment)
					ast.Inspect(s.Type, func(n ast.Node) bool {
						if f, ok := n.(*ast.Field); ok {
							add(f.Doc, f.Comment)
						}
						return true
					})
				case *ast.ValueSpec:
					if s.Names[0].IsExported() {
						add(d.Doc, s.Doc, s.Comment)
					}
				}
			}
		}
	}
	slices.SortFunc(docs, func(a, b *ast.CommentGroup) int { return cmp.Compare(a.Pos(), b.Pos()) })
	return slices.Compact(docs)
}
