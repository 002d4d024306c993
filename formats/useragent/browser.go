package useragent

const (
	chrome, firefox, safari = "Chrome", "Firefox", "Safari"
	mobileSafari            = "Mobile Safari"
	androidMobile           = "Android Mobile"
	blackBerry              = "BlackBerry"
	internetExplorer        = "Internet Explorer"
	mobileExplorer          = "Internet Explorer Mobile"
	edge                    = "Microsoft Edge"
)

// brands are marks of browsers that the library does not know, or takes for another one. The first that an agent has counts.
var brands = []struct{ mark, name string }{
	{"BlackBerry", blackBerry}, {"BB10", blackBerry}, {"PlayBook", blackBerry}, {"IEMobile", mobileExplorer}, {"WPDesktop", mobileExplorer},
	{"OculusBrowser", "Oculus Browser"}, {"SamsungBrowser", "Samsung Internet"}, {"Edge", edge}, {"Edg/", edge}, {"Vivaldi/", "Vivaldi"},
	{"YaBrowser/", "Yandex"}, {"Whale/", "Whale"}, {"DuckDuckGo/", "DuckDuckGo"}, {"Ddg/", "DuckDuckGo"}, {"FBIOS", "Facebook Mobile"},
	{"UCWEB", "UC Browser"}, {"UCBrowser", "UC Browser"}, {"Brave/", "Brave"}, {"PaleMoon/", "Pale Moon"}, {"Waterfox/", "Waterfox"},
}

// browser is the name that posthog-js has for the browser.
func (a agent) browser(os string) string {
	if a.has(" OPR/") {
		if a.has("Mini") {
			return "Opera Mini"
		}
		return "Opera"
	}
	for _, b := range brands {
		if a.has(b.mark) {
			return b.name
		}
	}
	switch a.parsed.Name {
	case "Chrome", "Headless Chrome":
		if os == iOS {
			return "Chrome iOS"
		}
		return chrome
	case "Firefox":
		if os == iOS {
			return "Firefox iOS"
		}
		return firefox
	case "Internet Explorer":
		return internetExplorer
	}
	return a.engine(os)
}

// engine is the browser that an agent with another name is made of: a browser in an app, or one of few users.
func (a agent) engine(os string) string {
	switch {
	case a.has("CriOS"):
		return "Chrome iOS"
	case a.has("Chrome", "CrMo"):
		return chrome
	case os == android && a.has("Safari"):
		return androidMobile
	case a.hasFold("konqueror"):
		return "Konqueror"
	case os == iOS && a.has("AppleWebKit"):
		return mobileSafari // a web view in an app
	case a.has("Safari") && a.has("Mobile"):
		return mobileSafari
	case a.has("Safari"), os == macOS && a.has("AppleWebKit"):
		return safari
	case a.has("MSIE", "Trident/"):
		return internetExplorer
	case a.has("Gecko"): // or says that it is like it
		return firefox
	}
	return ""
}

// versions are the marks before the number of the version of each browser.
var versions = map[string][]string{
	chrome: {"Chrome/", "CrMo/"}, "Chrome iOS": {"CriOS/"}, safari: {"Version/"}, mobileSafari: {"Version/"}, firefox: {"Firefox/"},
	"Firefox iOS": {"FxiOS/"}, edge: {"Edge/", "Edg/"}, "Opera": {"OPR/"}, "Samsung Internet": {"SamsungBrowser/"},
	internetExplorer: {"MSIE ", "rv:"}, mobileExplorer: {"rv:"}, androidMobile: {"Android "}, blackBerry: {"BlackBerry ", "Version/"},
	"Konqueror": {"Konqueror/", "konqueror/", "Konqueror:"}, "UC Browser": {"UCBrowser/", "UCWEB/"}, "Oculus Browser": {"OculusBrowser/"},
	"Vivaldi": {"Vivaldi/"}, "Yandex": {"YaBrowser/"}, "Whale": {"Whale/"}, "DuckDuckGo": {"DuckDuckGo/", "Ddg/"}, "Brave": {"Brave/"},
	"Pale Moon": {"PaleMoon/"}, "Waterfox": {"Waterfox/"},
}

func (a agent) version(browser string) string { return a.after(versions[browser]...) }
