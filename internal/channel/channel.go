// Package channel finds the channel by which a session came, as PostHog's web analytics does: by the utm parameters,
// the referring domain and the click ids of the session's first event. A project's own rules are not known here.
package channel

import (
	_ "embed" // the list of sources
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Text is a property of an event. A property that is absent or null is not Set.
type Text struct {
	Value string
	Set   bool
}

// Touch has the properties of an event that say where a session came from.
type Touch struct {
	Source, Medium, Campaign Text // utm_source, utm_medium, utm_campaign
	Domain                   Text // $referring_domain; $direct for no referrer
	GadSource                Text
	HasGclid, HasFbclid      bool
}

// Direct is the referring domain of a session without a referrer.
const Direct = "$direct"

// The kinds of a Definition.
const (
	KindSource = "source" // an utm_source, or a referring domain
	KindMedium = "medium"
)

// Definition is an entry of PostHog's table of sources and mediums.
type Definition struct {
	Name, Kind    string
	Paid, Organic string // the channel of a paid visit and of others; Paid is empty without one
}

//go:embed sources.txt
var sourceList string

var ofKind = map[string]Definition{
	"search":   {Paid: "Paid Search", Organic: "Organic Search"},
	"social":   {Paid: "Paid Social", Organic: "Organic Social"},
	"video":    {Paid: "Paid Video", Organic: "Organic Video"},
	"shopping": {Paid: "Paid Shopping", Organic: "Organic Shopping"},
	"display":  {Paid: "Display", Organic: "Display"},
	"email":    {Organic: "Email"}, "affiliate": {Organic: "Affiliate"}, "audio": {Organic: "Audio"},
	"push": {Organic: "Push"}, "referral": {Organic: "Referral"}, "sms": {Organic: "SMS"},
}

// mediums has the media by kind, and further sources that are no domains.
var mediums = map[string][]string{
	"affiliate": {"affiliate", "partnership", "partnerships"},
	"audio":     {"audio"},
	"display":   {"banner", "cpm", "display", "expandable", "interstitial"},
	"email":     {"e mail", "e-mail", "e_mail", "email"},
	"push":      {"mobile", "notification", "push"},
	"referral":  {"app", "link", "referral"},
	"social":    {"sm", "social", "social media", "social network", "social-media", "social-network"},
	"video":     {"video"},
}

var furtherSources = map[string][]string{"email": {"e mail", "e-mail", "e_mail", "email"}, "push": {"firebase"}, "sms": {"sms"}}

type key struct{ kind, name string }

var definitions = sync.OnceValue(func() map[key]Definition {
	all := map[key]Definition{}
	add := func(as, kind, name string) {
		d := ofKind[as]
		d.Name, d.Kind = name, kind
		all[key{kind, name}] = d
	}
	for line := range strings.Lines(sourceList) {
		if names := strings.Fields(line); !strings.HasPrefix(line, "#") {
			for _, pattern := range names[1:] {
				for name := range expanded(pattern) {
					add(names[0], KindSource, name)
				}
			}
		}
	}
	for as, names := range furtherSources {
		for _, name := range names {
			add(as, KindSource, name)
		}
	}
	for as, names := range mediums {
		for _, name := range names {
			add(as, KindMedium, name)
		}
	}
	return all
})

// expanded yields the names of a pattern: a{b,c} is ab and ac, and x* is x and x.com.
func expanded(pattern string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if name, both := strings.CutSuffix(pattern, "*"); both {
			_ = yield(name) && yield(name+".com")
			return
		}
		before, rest, found := strings.Cut(pattern, "{")
		if !found {
			yield(pattern)
			return
		}
		choices, after, _ := strings.Cut(rest, "}")
		for choice := range strings.SplitSeq(choices, ",") {
			for tail := range expanded(after) {
				if !yield(before + choice + tail) {
					return
				}
			}
		}
	}
}

// Definitions returns all that is known, sorted by kind and name.
func Definitions() []Definition {
	return slices.SortedFunc(maps.Values(definitions()), func(a, b Definition) int {
		return strings.Compare(a.Kind+"\x00"+a.Name, b.Kind+"\x00"+b.Name)
	})
}

// Of returns the channel of a session, such as "Organic Search".
func Of(t Touch) string {
	source, medium, campaign := lowered(t.Source), lowered(t.Medium), lowered(t.Campaign)
	gad := present(t.GadSource)
	switch {
	case strings.Contains(campaign, "cross-network"):
		return "Cross Network"
	case slices.Contains(paidMediums, medium) || strings.HasPrefix(medium, "paid") || t.HasGclid || gad != "":
		return t.paid(source, medium, campaign, gad)
	case t.Domain.Value == Direct && medium == "" && !t.HasFbclid && slices.Contains(directSources, source):
		return "Direct"
	}
	return t.organic(source, medium, campaign)
}

var (
	paidMediums   = []string{"cpc", "cpm", "cpv", "cpa", "ppc", "retargeting"}
	directSources = []string{"", "(direct)", "direct", Direct}
)

func (t Touch) paid(source, medium, campaign, gad string) string {
	paid := func(d Definition) string { return d.Paid }
	if found := lookup(KindSource, source, paid); found != "" {
		return found
	}
	if isShopping(campaign) {
		return "Paid Shopping"
	}
	if found := lookup(KindMedium, medium, paid); found != "" {
		return found
	}
	if found := lookup(KindSource, t.Domain.Value, paid); found != "" {
		return found
	}
	switch {
	case gad == "1":
		return "Paid Search"
	case strings.Contains(campaign, "video"):
		return "Paid Video"
	case t.HasFbclid:
		return "Paid Social"
	}
	return "Paid Unknown"
}

func (t Touch) organic(source, medium, campaign string) string {
	organic := func(d Definition) string { return d.Organic }
	if found := lookup(KindSource, source, organic); found != "" {
		return found
	}
	if isShopping(campaign) {
		return "Organic Shopping"
	}
	if found := lookup(KindMedium, medium, organic); found != "" {
		return found
	}
	if found := lookup(KindSource, t.Domain.Value, organic); found != "" {
		return found
	}
	switch {
	case strings.Contains(campaign, "video"):
		return "Organic Video"
	case strings.HasSuffix(medium, "push"):
		return "Push"
	case t.HasFbclid:
		return "Organic Social"
	case t.Domain.Value == Direct:
		return "Direct"
	case t.Domain.Set: // also if it is empty
		return "Referral"
	}
	return "Unknown"
}

// present returns a text, or "" if it stands for nothing.
func present(t Text) string {
	if t.Value == "null" {
		return ""
	}
	return t.Value
}

func lowered(t Text) string { return asciiLower(present(t)) }

// asciiLower is the function lower of ClickHouse, which changes no other letters.
func asciiLower(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' }) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// lookup returns the channel of a name, or of the domain that it belongs to.
func lookup(kind, name string, of func(Definition) string) string {
	if name == "" {
		return ""
	}
	all := definitions()
	if found := of(all[key{kind, name}]); found != "" || kind == KindMedium {
		return found
	}
	return of(all[key{kind, Domain(name)}])
}

// isShopping reports whether the name of a campaign has the word shop or shopping.
func isShopping(campaign string) bool {
	for i := 0; ; {
		n := strings.Index(campaign[i:], "shop")
		if n < 0 {
			return false
		}
		i += n
		// A letter before it makes it part of another word, except e: "eshop" is a shop.
		if i == 0 || campaign[i-1] == 'e' || campaign[i-1] < 'a' || campaign[i-1] > 'z' || strings.HasPrefix(campaign[i:], "shopping") {
			return true
		}
		i += len("shop")
	}
}

// Domain returns the part of a host or URL that names its owner, such as example.co.uk of www.example.co.uk, or "" if
// there is no host. It is the function cutToFirstSignificantSubdomain of ClickHouse, but knows the usual suffixes only.
func Domain(url string) string {
	host := hostOf(url)
	last := strings.LastIndexByte(host, '.')
	if last < 0 || last == len(host)-1 {
		return ""
	}
	second := strings.LastIndexByte(host[:last], '.')
	const ofCountry = 2 // letters of the top domain
	top, name := host[last+1:], host[second+1:last]
	isShared := len(top) == ofCountry && slices.Contains(secondTops, name) && !slices.Contains(wholeTops, top) || name+"."+top == "blogspot.com"
	if second < 0 || !isShared {
		return host[second+1:]
	}
	return host[strings.LastIndexByte(host[:second], '.')+1:]
}

// secondTops are names below the top domain of a country that others register under, such as co in co.uk.
var secondTops = []string{"co", "com", "net", "org", "ne", "or", "ac", "go", "gov", "edu"}

// wholeTops are countries for which ClickHouse knows no such names, since each name there is one.
var wholeTops = []string{"bd", "ck", "jm", "kh", "mm", "np", "pg"}

func hostOf(url string) string {
	if _, after, found := strings.Cut(url, "://"); found {
		url = after
	}
	if end := strings.IndexAny(url, "/:?#"); end >= 0 {
		url = url[:end]
	}
	url = url[strings.LastIndexByte(url, '@')+1:]
	if strings.ContainsAny(url, " \t<>%{}|\\^~[];=&") {
		return ""
	}
	return url
}
