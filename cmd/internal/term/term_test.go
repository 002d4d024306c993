package term

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLongLinesAreWrapped(t *testing.T) {
	t.Parallel()
	wrap := func(text string) string { return Wrapped(text, DefaultWidth) }
	assert.Equal(t, "short", wrap("short"))
	for line := range strings.SplitSeq(wrap("  "+strings.Repeat("word ", 30)), "\n") {
		assert.LessOrEqual(t, len(line), DefaultWidth)
		assert.True(t, strings.HasPrefix(line, "  word"))
	}
	path := strings.Repeat("x", 100)
	assert.Equal(t, path, wrap(path), "what has no blank stays whole")
	assert.Equal(t, "see\n"+path+"\nmore", wrap("see "+path+" more"))
	assert.Equal(t, "  "+path+"\n  b", wrap("  "+path+" b"))
	wide := strings.Repeat("äöüß ", 16)
	assert.Equal(t, strings.TrimSpace(wide), strings.TrimSpace(wrap(wide)), "a column is a character")
	assert.Equal(t, "東京 東京\n東京", Wrapped("東京 東京 東京", 10), "or half of one")
	assert.Equal(t, "send it?\n[y/N] ", Wrapped("send it? [y/N] ", 10), "a question ends with a blank")
	assert.Equal(t, "a  b\nc", Wrapped("a  b  c", 5))
}

// A command on several lines is the same one for a shell, and words in quotes stay whole.
func TestALongCommandIsBrokenForAShell(t *testing.T) {
	t.Parallel()
	command := "hogimport run 'a file with blanks and a name that is long.jsonl' --format csv --map 'time=when is  it|unix' --zone US/Pacific --sort --links"
	lines := strings.Split(broken("    "+command, DefaultWidth), "\n")
	assert.Greater(t, len(lines), 1)
	var whole []string
	for i, line := range lines {
		assert.LessOrEqual(t, len(line), DefaultWidth)
		assert.Equal(t, i < len(lines)-1, strings.HasSuffix(line, ` \`))
		whole = append(whole, strings.TrimSpace(strings.TrimSuffix(line, `\`)))
	}
	assert.Equal(t, command, strings.Join(whole, " "))
	assert.Equal(t, "    short", broken("    short", DefaultWidth))
	for text, want := range map[string]string{
		`hog "events to the warehouse" --yes`:    "hog \\\n  \"events to the warehouse\" \\\n  --yes",
		`hog 'say "no' --yes --json --plan`:      `hog 'say "no' --yes \` + "\n  --json --plan",
		`hog 'it'\''s a file' --yes --plan`:      `hog 'it'\''s a file' \` + "\n  --yes --plan",
		`hog --yes --json # in a crontab of ada`: "hog --yes --json \\\n  # in a crontab of ada",
	} {
		assert.Equal(t, want, broken(text, 22), text)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\x1b[31mb\a": `a\u001b[31mb\u0007`, "a\u009bb\u0085": `a\u009bb\u0085`, "\u202eevil\u2066": `\u202eevil\u2066`, "a\u2028b": `a\u2028b`,
		"a\u200bb": `a\u200bb`, "👩\u200d👧": "👩\u200d👧", "\U000e0001": `\udb40\udc01`, "key phx_0123456789ab!": "key phx_…!", "php_backend_events": "php_backend_events", "\xff": "\uFFFD", "é 東京": "é 東京",
		"\x01flow": `\u0001flow`,
	} {
		assert.Equal(t, want, Line(text))
		assert.Equal(t, want, Clean(text))
	}
	assert.Equal(t, `a\u000ab`, Line("a\nb"))
	assert.Equal(t, "a\n\tb", Clean("a\n\tb"))

	// Cleaned JSON decodes to the same text.
	raw, err := json.Marshal("\U000e0001\u009b\u202e")
	require.NoError(t, err)
	var again string
	require.NoError(t, json.Unmarshal([]byte(Clean(string(raw))), &again))
	assert.Equal(t, "\U000e0001\u009b\u202e", again)
}

// Without a terminal a table and JSON are as they are, and there are no colors.
func TestScreenOfAFile(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := NewScreen(&b, func(string) string { return "" })
	long := strings.Repeat("word ", 30) + "end"
	_, err := s.Write([]byte(long + "\n" + Flow(long) + "\n" + Problem("Problem") + ": x\n"))
	require.NoError(t, err)
	assert.Equal(t, long+"\n"+Wrapped(long, DefaultWidth)+"\nProblem: x\n", b.String())
	assert.False(t, IsTerminal(s))
}

// A table that is too wide cuts its long cells, then leaves columns out. Each row stays in one line, and wider screens show more.
func TestATableFitsTheScreen(t *testing.T) {
	t.Parallel()
	table := func(width int) []string {
		x := NewTable(nil).Narrow([]string{"EXPORT", "TO"}, []string{"AGO", "ID"})
		x.WriteString("ID\tEXPORT\tTO\tNEWEST EXPORTED\tAGO\tNOT EXPORTED IN 30 DAYS\t\n")
		x.WriteString("0190f3c0\tevents to the lake of our subsidiary in Rotterdam\tAwsS3 acme-lake/events/\t2026-11-28 01:00\t12 days\t4 in 2 gaps\t\n")
		x.WriteString("0190f3c1\té 東京\tBigQuery\t2026-11-28 02:00\t1 h\t0\t\n")
		return strings.Split(strings.TrimSpace(x.fitted(width)), "\n")
	}
	for _, c := range []struct {
		width int
		has   []string
		lacks string
	}{
		{140, []string{"subsidiary in Rotterdam", "acme-lake/events/", "12 days", "0190f3c0"}, "…"},
		{80, []string{"events t", "…", "12 days", "2026-11-28 01:00", "4 in 2 gaps", "0190f3c0"}, "Rotterdam"},
		{64, []string{"2026-11-28 01:00", "4 in 2 gaps", "0190f3c0"}, "12 days"},
		{55, []string{"2026-11-28 01:00", "4 in 2 gaps"}, "0190f3c0"},
	} {
		lines := table(c.width)
		assert.Len(t, lines, 5, "three of names, and two rows")
		for _, line := range lines {
			assert.LessOrEqual(t, Columns(line), c.width)
		}
		for _, word := range append(c.has, "NEWEST", "30 DAYS") {
			assert.Contains(t, strings.Join(lines, "\n"), word, "%d", c.width)
		}
		assert.NotContains(t, strings.Join(lines, "\n"), c.lacks, "%d", c.width)
	}
	for width := 20; width < 55; width++ { // each row stays in one line below the least width too
		lines := table(width)
		for _, line := range lines {
			assert.LessOrEqual(t, Columns(line), width)
		}
		assert.Contains(t, lines[len(lines)-2], "…", "%d", width)
		assert.True(t, strings.HasPrefix(lines[len(lines)-1], "é "), "%d: %q", width, lines)
	}
}

// On a terminal too, a table that nothing makes narrower has all its cells.
func TestATableThatIsNotNarrowed(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	x := NewTable(&Screen{out: &b, file: os.Stdin})
	x.WriteString("first name of three words\t1\nsecond\t2\n")
	require.NoError(t, x.Flush())
	assert.Equal(t, "first name of three words  1\nsecond                     2\n", b.String())
}
