package record

import (
	"cmp"
	"net/url"
	"strings"
)

// campaign are the parameters of a URL that PostHog's own SDKs send as properties of the event.
var campaign = map[string]bool{
	"utm_source": true, "utm_medium": true, "utm_campaign": true, "utm_content": true, "utm_term": true,
	"gclid": true, "gad_source": true, "gclsrc": true, "dclid": true, "gbraid": true, "wbraid": true, "fbclid": true, "msclkid": true,
	"twclid": true, "li_fat_id": true, "mc_cid": true, "igshid": true, "ttclid": true, "rdt_cid": true, "epik": true, "qclid": true,
	"sccid": true, "irclid": true, "_kx": true,
}

// IsCampaign reports whether PostHog knows a property of the name as one of a campaign or of the
// click on an ad.
func IsCampaign(name string) bool { return campaign[name] }

// HasCampaign reports whether there is a property of a campaign or of the click on an ad.
func (o *Object) HasCampaign() bool {
	for name := range campaign {
		if o.Get(name) != nil {
			return true
		}
	}
	return false
}

// AddPage adds the properties that PostHog's own SDKs take from the URL of a page, where they are
// absent: host, path, utm_… and the ids of clicks on ads.
func (o *Object) AddPage(rawURL []byte) {
	host, rest := split(rawURL)
	if host = withoutUser(host); host == "" {
		return
	}
	o.AddText("$host", host)
	rest, _, _ = strings.Cut(rest, "#")
	path, query, _ := strings.Cut(rest, "?")
	o.AddText("$pathname", cmp.Or(path, "/"))
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, value, _ := strings.Cut(pair, "=")
		if !campaign[name] || value == "" {
			continue
		}
		text, err := url.QueryUnescape(value)
		if err != nil || text == "" {
			continue
		}
		o.AddText(name, strings.ToValidUTF8(text, "\uFFFD"))
	}
}

// PageURL is the address of a page by its parts, of vendors that do not keep the scheme, or "" without a host.
func PageURL(host, path, query, hash string) string {
	if host == "" {
		return ""
	}
	address := "https://" + host + "/" + strings.TrimPrefix(path, "/")
	if query = strings.TrimPrefix(query, "?"); query != "" {
		address += "?" + query
	}
	if hash = strings.TrimPrefix(hash, "#"); hash != "" {
		address += "#" + hash
	}
	return address
}

// AddReferrer adds the referring domain of a referrer, where it is absent: the host of its URL, or
// "$direct" for the referrer "$direct".
func (o *Object) AddReferrer(referrer []byte) {
	if IsWord(referrer, "$direct") {
		o.AddText("$referring_domain", "$direct")
		return
	}
	o.AddGiven("$referring_domain", Host(referrer))
}
