package event_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/wire"
)

// constants returns the values of all constants of the package.
func constants(t *testing.T) (values []string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Warning") {
				for _, v := range spec.Values {
					if text, ok := v.(*ast.BasicLit); ok {
						value, err := strconv.Unquote(text.Value)
						require.NoError(t, err)
						values = append(values, value)
					}
				}
			}
			return true
		})
	}
	return values
}

// Each warning has advice, and each warning of the gate has a name here.
func TestEachWarningHasAdvice(t *testing.T) {
	t.Parallel()
	all := constants(t)
	for _, name := range wire.WarningNames() {
		require.Contains(t, all, string(name))
	}
	for _, name := range append(all, "person_processing_disabled", "warning") { // the last two come from capture v1
		assert.NotEmpty(t, event.Warning(name).Advice(), name)
	}
	assert.Empty(t, event.Warning("of tomorrow").Advice())
}
