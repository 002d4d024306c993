package ga4

import (
	"testing"

	"github.com/hogapi/hogapi/formats/internal/formattest"
)

// The docs print the table that the converter runs.
func TestDoc(t *testing.T) { formattest.Doc(t, table) }
