package verify

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	s := Summary{
		Import: "i", State: "missing", IsUnfinished: true, Looks: 3, Acknowledged: 10, Unconfirmed: 1, Seen: 7, Copies: 8, Doubled: 2,
		Found:       []SummaryIDs{{Kind: "missing", Events: 3, IDs: []uuid.UUID{id(1)}}, {Kind: "moved"}},
		Rows:        []SummaryRow{{"1999-03-01", "a\nb", 10, 7, "missing", "why\nso"}},
		Uncountable: []string{"$x", ""}, Notes: []string{"one\nnote"},
		Warnings: []SummaryWarning{{"dropped", 4, march}},
	}
	assert.Equal(t, `import "i": missing; but the import is not finished: import the rest, and verify its last receipt
acknowledged 10, unconfirmed 1, seen 7 (8 copies, not merged yet), after look 3
missing: 3
  `+id(1).String()+`
stored once: 2, which share the uuid of another event of the source
  day        event                          acknowledged         seen  state
  1999-03-01 "a\nb"                                   10            7  missing: why so
names that counting can miss: $x (none)
ingestion warning dropped: 4, last seen 1999-03-01T00:00:00Z
note: one note`, s.String())
}

// Of very many cells and uuids some are shown, and the number of the others.
func TestSummaryIsShort(t *testing.T) {
	t.Parallel()
	s := Summary{State: "missing", Rows: make([]SummaryRow, 52), Found: []SummaryIDs{{Kind: "missing", Events: 9, IDs: make([]uuid.UUID, 9)}}}
	unfinished := Summary{Import: "i", State: NotFinished, IsUnfinished: true}
	assert.True(t, strings.HasPrefix(unfinished.String(), `import "i": not finished; import the rest, and verify its last receipt`))
	lines := strings.Split(s.String(), "\n")
	require.Len(t, lines, 2+1+5+1+50+1)
	assert.Equal(t, "  and 2 more", lines[len(lines)-1])
}

// A result without more to say is short, and so is a table that is full.
func TestPlainSummary(t *testing.T) {
	t.Parallel()
	s := Summary{Import: "i", State: "complete", Looks: 1, Acknowledged: 10, Seen: 10, Copies: 10}
	assert.Equal(t, "import \"i\": complete\nacknowledged 10, seen 10, after look 1", s.String())
	s.Rows = make([]SummaryRow, mostShownRows)
	assert.NotContains(t, s.String(), "more")
}
