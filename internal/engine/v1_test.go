package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/delivery"
)

func sent(n int) (ids [][]byte) {
	for i := range n {
		ids = append(ids, fmt.Appendf(nil, "0191c0de-0000-5000-8000-%012d", i))
	}
	return ids
}

func TestFates(t *testing.T) {
	ids := sent(9)
	said := []string{
		`{"result":"ok"}`, `{"result":"ok","details":"person_processing_disabled"}`, `{"result":"warning"}`,
		`{"result":"warning","details":"person_processing_disabled"}`, `{"result":"drop","details":"event_name_too_long"}`, `{"result":"drop"}`,
		`{"result":"retry","details":"not_persisted"}`, `{"result":"limited"}`, `{"details":"x"}`,
	}
	want := []delivery.Fate{
		{Outcome: delivery.Accepted}, {Outcome: delivery.Accepted, Reason: "person_processing_disabled"}, {Outcome: delivery.Accepted, Reason: "warning"},
		{Outcome: delivery.Accepted, Reason: "person_processing_disabled"}, {Outcome: delivery.Rejected, Reason: "event_name_too_long"},
		{Outcome: delivery.Rejected, Reason: "no_reason"}, {Outcome: delivery.Again, Reason: "not_persisted"},
		{Outcome: delivery.Unconfirmed, Reason: "limited"}, {Outcome: delivery.Unconfirmed, Reason: "a result that says nothing"},
	}
	inOrder, backwards := []string{}, []string{}
	for i, id := range ids {
		member := fmt.Sprintf("%q:%s", id, said[i])
		inOrder, backwards = append(inOrder, member), append([]string{member}, backwards...)
	}
	for _, members := range [][]string{inOrder, backwards} {
		got, err := readFates([]byte(`{"results": {`+strings.Join(members, ", ")+`}, "more": 1}`), ids)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestEventsThatAreNotNamedAreMissing(t *testing.T) {
	ids := sent(3)
	got, err := readFates(fmt.Appendf(nil, `{"results":{%q:{"result":"ok"}}}`, ids[1]), ids)
	require.NoError(t, err)
	assert.Equal(t, []delivery.Fate{{}, {Outcome: delivery.Accepted}, {}}, got)
	assert.Equal(t, delivery.Missing, got[0].Outcome)
}

func TestAnswersThatCannotBeTrusted(t *testing.T) {
	ids := sent(2)
	ok := `{"result":"ok"}`
	for name, body := range map[string]string{
		"empty":               ``,
		"HTML":                `<html>`,
		"a word of /batch/":   `{"status":"Ok"}`,
		"results of a list":   `{"results":[]}`,
		"results of null":     `{"results":null}`,
		"cut":                 fmt.Sprintf(`{"results":{%q:%s`, ids[0], ok),
		"foreign":             fmt.Sprintf(`{"results":{%q:%s,%q:%s,"0191c0de-0000-5000-8000-00000000ffff":%s}}`, ids[0], ok, ids[1], ok, ok),
		"an event twice":      fmt.Sprintf(`{"results":{%q:%s,%q:{"result":"drop"}}}`, ids[0], ok, ids[0]),
		"results twice":       fmt.Sprintf(`{"results":{%q:%s},"results":{%q:%s}}`, ids[0], ok, ids[1], ok),
		"another text behind": fmt.Sprintf(`{"results":{%q:%s}} x`, ids[0], ok),
	} {
		_, err := readFates([]byte(body), ids)
		assert.Error(t, err, name)
	}
}

func TestAllOK(t *testing.T) {
	ids := sent(3)
	ok := `{"result":"ok"}`
	all := fmt.Sprintf(`{"results":{%q:%s,%q:%s,%q:%s}}`, ids[0], ok, ids[1], ok, ids[2], ok)
	assert.True(t, allOK([]byte(all), ids))
	assert.False(t, allOK([]byte(all), ids[:2]), "one that was not sent")
	assert.False(t, allOK([]byte(all), sent(4)), "one is missing")
	assert.False(t, allOK([]byte(strings.Replace(all, "ok", "no", 1)), ids))
	assert.False(t, allOK([]byte(all), [][]byte{ids[1], ids[0], ids[2]}), "in another order it is read")
	for i := range all {
		assert.False(t, allOK([]byte(all[:i]), ids), "cut at %d", i)
		assert.False(t, allOK([]byte(all[:i]+"x"+all[i+1:]), ids), "changed at %d", i)
	}
	assert.False(t, allOK([]byte(all+" x"), ids))
}

func TestV1Errors(t *testing.T) {
	assert.True(t, parseV1Error([]byte(`{"error":"empty_batch","error_description":"…"}`)).isEmptyBatch())
	assert.False(t, parseV1Error([]byte(`{"error":"duplicate_event_uuid"}`)).isAboutRequest())
	assert.True(t, parseV1Error([]byte(`{"error":"invalid_batch"}`)).isAboutRequest())
	assert.True(t, parseV1Error([]byte(`{"error":"billing_limit_exceeded"}`)).isQuota())
	for _, other := range []string{``, `<html>`, `[]`, `{"error":1}`, `{"type":"x"}`} {
		assert.Zero(t, parseV1Error([]byte(other)), other)
	}
}
