package record

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A table runs its rows in their order: a value for each property, and a call of keep where another field
// was first.
func TestTable(t *testing.T) {
	t.Parallel()
	values := Table{
		{"url", "$current_url", Both, ""}, {"page", "$current_url", Event, ""}, {"url", "page_url", Event, ""}, {"plan", "plan", Person, ""},
		{"first", "$initial_referrer", Once, ""}, {"id", "distinct_id", Code, ""}, {"noise", "", Dropped, ""},
	}.Values()
	for range 2 { // the second time without anything of the first
		values.Begin()
		for field, value := range map[string]string{
			"url": `"u"`, "page": `"p"`, "plan": `"team"`, "first": `"r"`, "id": `"x"`, "noise": `1`,
		} {
			assert.True(t, values.Take([]byte(field), []byte(value)), field)
		}
		assert.False(t, values.Take([]byte("other"), []byte("1")))
		assert.Equal(t, `"x"`, string(values.Get("id")))
		assert.Panics(t, func() { values.Get("other") })
		var p Properties
		p.Begin()
		kept := map[string]string{}
		values.Add(&p, func(field string, value []byte) { kept[field] = string(value) })
		assert.Equal(t, map[string]string{"page": `"p"`}, kept)
		assert.Equal(t, `{"$current_url":"u","page_url":"u","historical_migration":true,"analytics_source":"v",`+
			`"$set_once":{"$current_url":"u","plan":"team","$initial_referrer":"r"}}`, string(p.Finish("v")))
	}
}

// The docs print a line for each row. The rows within an object have the names of its members.
func TestTableText(t *testing.T) {
	t.Parallel()
	table := Table{
		{"id", "distinct_id", Code, "a number by its digits"}, {"geo.city", "$geoip_city_name", Both, ""}, {"geo.metro.id", "metro", Event, ""},
		{"geo.…", "", Dropped, "empty ones"}, {"geography", "g", Event, "a note"},
	}
	assert.Equal(t, `id            distinct_id       a number by its digits
geo.city      $geoip_city_name  event and person
geo.metro.id  metro
geo.…                           dropped; empty ones
geography     g                 a note
`, table.String())
	assert.Equal(t, Table{{"city", "$geoip_city_name", Both, ""}, {"…", "", Dropped, "empty ones"}}, table.Within("geo"))
	assert.Equal(t, Table{{"id", "metro", Event, ""}}, table.Within("geo.metro"))
	assert.Equal(t, Table{table[0], table[4]}, table.Within(""))
	assert.Empty(t, table.Within("id"))
}

// A URL gives the properties that PostHog's own SDKs send.
func TestAddPage(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		`"https://ann@shop.example:8080/a/b?utm_source=x%20y&gclid=1&other=2&utm_source=z&fbclid=#utm_term=t"`: `{"$host":"shop.example:8080","$pathname":"/a/b","utm_source":"x y","gclid":"1"}`,
		`"https://shop.example"`:                      `{"$host":"shop.example","$pathname":"/"}`,
		`"https://shop.example?utm_medium=%zz&_kx=k"`: `{"$host":"shop.example","$pathname":"/","_kx":"k"}`,
		`"https://shop.example/?utm_term=%ff"`:        `{"$host":"shop.example","$pathname":"/","utm_term":"` + "\uFFFD" + `"}`,
		`"/a"`:                                        `{}`, `"android-app://com.example/"`: `{"$host":"com.example","$pathname":"/"}`, `7`: `{}`, ``: `{}`,
	} {
		var o Object
		o.AddPage([]byte(url))
		assert.Equal(t, want, string(o.JSON()), url)
		assert.Equal(t, strings.Contains(want, "utm_") || strings.Contains(want, "_kx"), o.HasCampaign(), url)
	}
	for referrer, want := range map[string]string{
		`"https://www.google.com/search"`: `{"$referring_domain":"www.google.com"}`, `"$direct"`: `{"$referring_domain":"$direct"}`, `""`: `{}`,
	} {
		var o Object
		o.AddReferrer([]byte(referrer))
		assert.Equal(t, want, string(o.JSON()), referrer)
	}
}
