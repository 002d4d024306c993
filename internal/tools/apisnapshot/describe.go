package main

import (
	"bytes"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// describe returns one line for every exported declaration of the package in dir, sorted, a type followed by its fields and methods.
// It reads the compiler's export data, so that the values of constants and the methods of embedded types are there too.
func describe(root, dir string) ([]string, error) {
	pkg, err := load(root, dir)
	if err != nil {
		return nil, err
	}
	w := writer{pkg: pkg}
	scope := pkg.Scope()
	var funcs, consts, vars, typs []string
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if !obj.Exported() {
			continue
		}
		switch obj := obj.(type) {
		case *types.Const:
			consts = append(consts, fmt.Sprintf("const %s %s = %s", name, w.typ(obj.Type()), obj.Val().ExactString()))
		case *types.Var:
			vars = append(vars, fmt.Sprintf("var %s %s", name, w.typ(obj.Type())))
		case *types.Func:
			funcs = append(funcs, "func "+name+w.signature(obj.Signature()))
		case *types.TypeName:
			typs = append(typs, w.typeDecl(obj)...)
		}
	}
	return slices.Concat(consts, vars, funcs, typs), nil // scope.Names is sorted, and so is each part
}

// load builds the package with its dependencies and imports what the compiler wrote down of it.
func load(root, dir string) (*types.Package, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "./"+dir)
	cmd.Dir = root
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list ./%s: %w\n%s", dir, err, errs.String())
	}
	files := map[string]string{}
	path := ""
	for line := range strings.Lines(string(out)) {
		p, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[p] = file
		path = p // dependencies first, the package itself last
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("no export data for %q", path)
		}
		return os.Open(files[path])
	}).Import(path)
}

type writer struct{ pkg *types.Package }

func (w writer) qualify(p *types.Package) string {
	if p == w.pkg {
		return ""
	}
	return p.Name()
}

func (w writer) typ(t types.Type) string { return unnamed(types.TypeString(t, w.qualify)) }

// unnamed removes the names that the compiler gives to results without one when it may inline the function.
func unnamed(signature string) string { return resultName.ReplaceAllString(signature, "") }

var resultName = regexp.MustCompile(`#rv\d+ `)

func (w writer) signature(s *types.Signature) string {
	var b bytes.Buffer
	types.WriteSignature(&b, s, w.qualify)
	return unnamed(b.String())
}

func (w writer) typeParams(list *types.TypeParamList) string {
	var params []string
	for p := range list.TypeParams() {
		params = append(params, p.Obj().Name()+" "+w.typ(p.Constraint()))
	}
	return "[" + strings.Join(params, ", ") + "]"
}

// typeDecl describes a type: its line, then its fields, then its methods.
func (w writer) typeDecl(obj *types.TypeName) []string {
	name := obj.Name()
	if obj.IsAlias() {
		alias, _ := obj.Type().(*types.Alias)
		return []string{fmt.Sprintf("type %s = %s", name, w.typ(alias.Rhs()))}
	}
	named, _ := obj.Type().(*types.Named)
	head := "type " + name
	if tp := named.TypeParams(); tp.Len() > 0 {
		head += w.typeParams(tp)
	}
	var lines []string
	switch under := named.Underlying().(type) {
	case *types.Struct:
		lines = append([]string{head + " struct"}, w.fields(name, under)...)
	case *types.Interface:
		lines = append([]string{head + " interface"}, w.interfaceMethods(name, under)...)
	default:
		lines = []string{head + " " + w.typ(under)}
	}
	return append(lines, w.methods(name, named)...)
}

// fields lists the exported fields of a struct, those of an unexported embedded struct included since users see them as the type's own.
func (w writer) fields(name string, s *types.Struct) []string {
	var lines []string
	for i := range s.NumFields() {
		f := s.Field(i)
		if f.Exported() {
			line := fmt.Sprintf("field %s.%s %s", name, f.Name(), w.typ(f.Type()))
			if tag := s.Tag(i); tag != "" {
				line += " `" + tag + "`"
			}
			if f.Embedded() {
				line += " (embedded)"
			}
			lines = append(lines, line)
			continue
		}
		if inner, ok := structOf(f.Type()); ok && f.Embedded() {
			lines = append(lines, w.fields(name, inner)...)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func structOf(t types.Type) (*types.Struct, bool) {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	return s, ok
}

// interfaceMethods lists the methods an interface asks for. One unexported method closes it to other packages: that is said, not named.
func (w writer) interfaceMethods(name string, i *types.Interface) []string {
	var lines []string
	sealed := false
	for m := range i.Methods() {
		if m.Exported() {
			lines = append(lines, fmt.Sprintf("method %s.%s%s", name, m.Name(), w.signature(m.Signature())))
		} else {
			sealed = true
		}
	}
	slices.Sort(lines)
	if sealed {
		lines = append(lines, fmt.Sprintf("method %s (cannot be implemented outside the package)", name))
	}
	return lines
}

// methods lists the exported methods in the method set of *T, promoted ones included.
func (w writer) methods(name string, named *types.Named) []string {
	if types.IsInterface(named) {
		return nil
	}
	own := types.NewMethodSet(named)
	var lines []string
	for sel := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		fn, ok := sel.Obj().(*types.Func)
		if !ok || !fn.Exported() {
			continue
		}
		recv := "*" + name
		if own.Lookup(fn.Pkg(), fn.Name()) != nil {
			recv = name
		}
		signature, _ := sel.Type().(*types.Signature)
		lines = append(lines, fmt.Sprintf("method (%s) %s%s", recv, fn.Name(), w.signature(signature)))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(afterReceiver(a), afterReceiver(b)) })
	return lines
}

func afterReceiver(line string) string { return line[strings.Index(line, ")"):] }
