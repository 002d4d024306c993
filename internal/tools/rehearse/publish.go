package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// publish writes one module into a proxy folder, in the form that the go command reads through a file:// address.
func publish(proxy, root string, m module, files []string, modules []module) (int, error) {
	at := filepath.Join(proxy, filepath.FromSlash(m.path()), "@v") // no capital letters in our paths, so nothing to escape
	if err := os.MkdirAll(at, 0o755); err != nil {
		return 0, err
	}
	mod, err := os.ReadFile(filepath.Join(root, m.dir, "go.mod"))
	if err != nil {
		return 0, err
	}
	archive, err := pack(root, m, files, modules)
	if err != nil {
		return 0, err
	}
	for name, data := range map[string][]byte{
		"list":            []byte(version + "\n"),
		version + ".info": fmt.Appendf(nil, `{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, version),
		version + ".mod":  mod,
		version + ".zip":  archive,
	} {
		if err := os.WriteFile(filepath.Join(at, name), data, 0o644); err != nil {
			return 0, err
		}
	}
	return len(archive), nil
}

// pack makes the module's zip by its rules: every name begins with path@version/, a nested module is left out,
// and a module without a licence of its own carries the root's.
func pack(root string, m module, files []string, modules []module) ([]byte, error) {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	add := func(name string, data []byte) error {
		w, err := z.Create(m.path() + "@" + version + "/" + name)
		if err == nil {
			_, err = io.Copy(w, bytes.NewReader(data))
		}
		return err
	}
	licensed := false
	for _, f := range files {
		name, ok := m.owns(f, modules)
		if !ok {
			continue
		}
		licensed = licensed || name == "LICENSE"
		data, err := os.ReadFile(filepath.Join(root, f))
		if err != nil {
			return nil, err
		}
		if err := add(name, data); err != nil {
			return nil, err
		}
	}
	if !licensed {
		data, err := os.ReadFile(filepath.Join(root, "LICENSE"))
		if err != nil {
			return nil, err
		}
		if err := add("LICENSE", data); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return buf.Bytes(), err
}

// owns says whether a file belongs to the module, and its name inside it: the deepest module around a file has it.
func (m module) owns(file string, modules []module) (string, bool) {
	name, ok := m.inside(file)
	if !ok {
		return "", false
	}
	for _, other := range modules {
		if _, deeper := other.inside(file); deeper && len(other.dir) > len(m.dir) && other.dir != "." {
			return "", false
		}
	}
	return name, true
}

func (m module) inside(file string) (string, bool) {
	if m.dir == "." {
		return file, true
	}
	return strings.CutPrefix(file, m.dir+"/")
}
