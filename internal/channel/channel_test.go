package channel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/internal/channel"
)

func set(s string) channel.Text { return channel.Text{Value: s, Set: true} }

// Each rule decides once, and its neighbours do not.
func TestOf(t *testing.T) {
	t.Parallel()
	direct := set(channel.Direct)
	for want, touches := range map[string][]channel.Touch{
		"Cross Network": {{Campaign: set("Summer Cross-Network"), HasGclid: true, Domain: direct}},
		"Paid Search": {
			{Source: set("Google"), Medium: set("CPC")}, {Domain: set("www.google.co.uk"), HasGclid: true},
			{Medium: set("paid"), GadSource: set("1"), Domain: set("example.com")},
		},
		"Paid Shopping": {{Source: set("ebay"), Medium: set("ppc")}, {Campaign: set("winter eshop"), Medium: set("paid_x")}},
		"Paid Social":   {{Domain: set("l.facebook.com"), Medium: set("retargeting")}, {Medium: set("cpa"), HasFbclid: true, Domain: direct}},
		"Paid Video":    {{Domain: set("m.youtube.com"), GadSource: set("2")}, {Campaign: set("our video"), Medium: set("cpv")}},
		"Display":       {{Medium: set("cpm"), Domain: direct}, {Medium: set("banner"), Domain: direct}},
		"Paid Unknown":  {{Medium: set("cpc"), Domain: direct}, {GadSource: set("2"), Domain: direct}, {Source: set("email"), Medium: set("cpc")}},
		"Direct": {
			{Domain: direct}, {Domain: direct, Source: set("(direct)")}, {Domain: direct, Source: set("null"), Medium: set("")},
			{Domain: direct, Source: set("somebody"), Medium: set("letter")},
		},
		"Organic Shopping": {{Domain: set("smile.amazon.com")}, {Campaign: set("shopping"), Domain: direct, Medium: set("x")}},
		"Organic Search":   {{Domain: set("google.de")}, {Domain: set("duckduckgo.com"), GadSource: set("null")}, {Domain: set("a.b.chatgpt.com")}},
		"Organic Social":   {{Domain: set("t.co")}, {Domain: direct, HasFbclid: true}, {Domain: set("com.instagram.android")}, {Source: set("social"), Domain: direct}},
		"Organic Video":    {{Domain: set("vimeo.com")}, {Domain: set("example.com"), Campaign: set("videos")}},
		"Email":            {{Medium: set("E-Mail"), Domain: direct}, {Domain: set("mail.google.com")}},
		"Affiliate":        {{Medium: set("partnership"), Domain: set("example.com")}},
		"Audio":            {{Medium: set("audio")}},
		"SMS":              {{Source: set("sms"), Domain: direct}},
		"Push":             {{Source: set("firebase")}, {Medium: set("web-push"), Domain: direct}},
		"Referral":         {{Domain: set("news.example.com")}, {Domain: set("")}, {Domain: set("Google.com")}, {Medium: set("link"), Domain: direct}, {Domain: set("bishop.com"), Campaign: set("bishops")}},
		"Unknown":          {{}, {Source: set("newsletter")}},
	} {
		for _, touch := range touches {
			assert.Equal(t, want, channel.Of(touch), "%+v", touch)
		}
	}
}

func TestDomain(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"www.google.co.uk": "google.co.uk", "co.uk": "co.uk", "google": "", "a.b.google.com": "google.com", "google.com:8080": "google.com",
		channel.Direct: "", "a b.google.com": "", "x.google.com.": "", "https://x.google.com/a": "google.com", "a@x.google.com": "google.com",
		"user:pass@x.google.com": "", "": "", "x.rakuten.co.jp": "rakuten.co.jp", "b.t.co": "t.co", "www.google.com.bd": "com.bd", "a.x.blogspot.com": "x.blogspot.com", "blogspot.com": "blogspot.com",
	} {
		assert.Equal(t, want, channel.Domain(host), host)
	}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	names := map[string]channel.Definition{}
	for _, d := range channel.Definitions() {
		assert.NotRegexp(t, `[{}*,]`, d.Name)
		assert.NotEmpty(t, d.Organic, d.Name)
		names[d.Kind+" "+d.Name] = d
	}
	assert.Len(t, names, len(channel.Definitions()))
	assert.Greater(t, len(names), 1400)
	assert.Equal(t, channel.Definition{Name: "google.com.tr", Kind: "source", Paid: "Paid Search", Organic: "Organic Search"}, names["source google.com.tr"])
	assert.Equal(t, "Organic Shopping", names["source com.amazon.mshop.android.business.shopping"].Organic)
	assert.Equal(t, channel.Definition{Name: "ru.yandex.mail", Kind: "source", Organic: "Email"}, names["source ru.yandex.mail"])
	assert.Contains(t, names, "source genspark.ai")
}
