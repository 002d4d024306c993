package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Quoted is a text as JSON.
func Quoted(text string) []byte { return appendText(nil, text) }

// AddLookUp lets PostHog look up the place of an event with an address and without a country.
func (o *Object) AddLookUp() {
	if !IsNone(o.Get("$ip")) && IsNone(o.Get("$geoip_country_code")) {
		o.Add("$geoip_disable", []byte("false"))
	}
}

// GroupsText names groups by property among the options of a format.
func GroupsText(groups map[string]string) string {
	var parts []string
	for _, property := range slices.Sorted(maps.Keys(groups)) {
		parts = append(parts, fmt.Sprintf("%q=%q", property, groups[property]))
	}
	return Flag("groups="+strings.Join(parts, " "), len(parts) > 0)
}
