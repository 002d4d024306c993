package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sample = `package hogapi

import "time"

type Kind string

const (
	KindA Kind = "a"
	kindB Kind = "b"
)

const (
	First = iota + 1
	Second
)

var ErrGone error

type base struct{ ID int }

func (base) Touch() {}

type Thing struct {
	base
	Name  string ` + "`json:\"name\"`" + `
	inner int
}

func (t *Thing) Rename(to string) error { return nil }
func (t Thing) At() time.Time           { return time.Time{} }
func (t Thing) hidden()                 {}

type Box[T any] struct{ V T }

func (b Box[T]) Get() (T, bool) { return b.V, true }

type Open interface{ Do(n ...int) error }
type Closed interface{ Open; closed() }
type Same = Thing
type Fn func(a, b int) error

func New[T any](v T) Box[T] { return Box[T]{v} }
func helper()               {}
`

// module makes a module with one package at its root.
func module(t *testing.T, src string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.test/hogapi\n\ngo 1.26.0\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte(src), 0o600))
	return dir
}

func TestDescribeNamesEveryExportedDeclaration(t *testing.T) {
	got, err := describe(module(t, sample), ".")
	require.NoError(t, err)
	assert.Equal(t, []string{
		`const First untyped int = 1`,
		`const KindA Kind = "a"`,
		`const Second untyped int = 2`,
		`var ErrGone error`,
		`func New[T any](v T) Box[T]`,
		`type Box[T any] struct`,
		`field Box.V T`,
		`method (Box) Get() (T, bool)`,
		`type Closed interface`,
		`method Closed.Do(n ...int) error`,
		`method Closed (cannot be implemented outside the package)`,
		`type Fn func(a int, b int) error`,
		`type Kind string`,
		`type Open interface`,
		`method Open.Do(n ...int) error`,
		`type Same = Thing`,
		`type Thing struct`,
		`field Thing.ID int`,
		"field Thing.Name string `json:\"name\"`",
		`method (Thing) At() time.Time`,
		`method (*Thing) Rename(to string) error`,
		`method (Thing) Touch()`,
	}, got)
}

func TestSnapshotFindsAChange(t *testing.T) {
	root := module(t, sample)
	ok, err := snapshot(root, ".", "api/a.txt", true)
	require.NoError(t, err)
	assert.False(t, ok, "a package without a snapshot")

	_, err = snapshot(root, ".", "api/a.txt", false)
	require.NoError(t, err)
	ok, err = snapshot(root, ".", "api/a.txt", true)
	require.NoError(t, err)
	assert.True(t, ok, "right after it was written")

	require.NoError(t, os.WriteFile(filepath.Join(root, "b.go"), []byte("package hogapi\n\nfunc More() {}\n"), 0o600))
	ok, err = snapshot(root, ".", "api/a.txt", true)
	require.NoError(t, err)
	assert.False(t, ok, "a function more")
}

func TestSnapshotOfAPackageThatIsGone(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "api"), 0o700))
	ok, err := snapshot(root, "gone", "api/gone.txt", true)
	require.NoError(t, err)
	assert.True(t, ok, "neither package nor snapshot")

	require.NoError(t, os.WriteFile(filepath.Join(root, "api/gone.txt"), []byte("func A()\n"), 0o600))
	ok, err = snapshot(root, "gone", "api/gone.txt", true)
	require.NoError(t, err)
	assert.False(t, ok, "a snapshot of a package that is gone")
}

func TestDiff(t *testing.T) {
	tests := map[string]struct{ old, now, want []string }{
		"same":    {[]string{"a", "b"}, []string{"a", "b"}, nil},
		"changed": {[]string{"a", "b1", "c"}, []string{"a", "b2", "c"}, []string{"- b1", "+ b2"}},
		"added":   {[]string{""}, []string{"a"}, []string{"+ a"}},
		"removed": {[]string{"a", "b", "c"}, []string{"c"}, []string{"- a", "- b"}},
		"moved":   {[]string{"a", "b"}, []string{"b", "a"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, diff(tt.old, tt.now)) })
	}
}
