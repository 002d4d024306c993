package record

import (
	"slices"
	"strings"
)

// systems are the names of operating systems in small letters, and the live values of PostHog. Where one name begins
// with another, it comes first.
var systems = []struct{ name, live string }{
	{"windows phone os", "Windows Phone"}, {"windows phone", "Windows Phone"}, {"windows mobile", "Windows Mobile"},
	{"windows", windows}, {"macintosh intel", macOS}, {"macintosh", macOS}, {"mac os x", macOS}, {"mac os", macOS}, {"macos", macOS},
	{"mac", macOS}, {"os x", macOS}, {"iphone os", iOS}, {"iphone", iOS}, {"ipados", iOS}, {"ipad", iOS}, {"ipod", iOS}, {"ios", iOS},
	{"android os", android}, {"android", android}, {"chrome os", chromeOS}, {"chromeos", chromeOS}, {"chromium os", chromeOS},
	{"cros", chromeOS}, {"gnu/linux", linux}, {"linux", linux}, {"ubuntu", linux}, {"debian", linux}, {"fedora", linux},
	{"watchos", watchOS}, {"watch os", watchOS}, {"tvos", "tvOS"}, {"blackberry os", blackBerry}, {"blackberry", blackBerry},
	{"playstation", "PlayStation"}, {"nintendo", "Nintendo"}, {"xbox", "Xbox"},
}

// systemsBy are the systems by the first letter of their names.
var systemsBy = func() (by [32][]int) {
	for i, s := range systems {
		by[s.name[0]&31] = append(by[s.name[0]&31], i)
	}
	return by
}()

const (
	windows, macOS, iOS, android = "Windows", "Mac OS X", "iOS", "Android"
	chromeOS, linux, watchOS     = "Chrome OS", "Linux", "watchOS"
	blackBerry                   = "BlackBerry"
)

// windowsVersions are the names of the versions of Windows NT.
var windowsVersions = map[string]string{
	"5.0": "2000", "5.1": "XP", "5.2": "XP", "6.0": "Vista", "6.1": "7", "6.2": "8", "6.3": "8.1", "6.4": "10", "10.0": "10",
}

// OS gives the values of $os and $os_version for the names that vendors use: "Macintosh" and "Intel 10.15" are "Mac OS X" and
// "10.15", and "Windows 10" and "" are "Windows" and "10". The version may begin with the name of the system, as in "iOS 17.2".
// A name that is not known, and its version, stay as they are.
func OS(name, version string) (liveName, liveVersion string) {
	name, version = strings.TrimSpace(name), strings.TrimSpace(version)
	liveName, rest, isKnown := system(name)
	if !isKnown {
		return name, version
	}
	if own, inVersion, isNamed := system(version); isNamed && own == liveName {
		rest = inVersion
	} else if version != "" {
		rest = version
	}
	return liveName, systemVersion(liveName, rest)
}

// IsOS reports whether a text is a name that OS knows, alone or with a version, and not the name of a browser or of a
// device that begins with it.
func IsOS(text string) bool {
	live, rest, isKnown := system(strings.TrimSpace(text))
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "NT "), "Intel ")
	return isKnown && (rest == "" || isDigit(rest[0]) || live == windows && (rest == "XP" || rest == "Vista"))
}

// system is the live name at the beginning of a text, and the rest of the text.
func system(text string) (live, rest string, isKnown bool) {
	if text == "" || !isLetter(text[0]) {
		return "", "", false
	}
	for _, i := range systemsBy[text[0]&31] {
		s := &systems[i]
		if len(text) < len(s.name) || !strings.EqualFold(text[:len(s.name)], s.name) {
			continue
		}
		rest = text[len(s.name):]
		if rest != "" && isLetter(rest[0]) {
			continue
		}
		if live, rest = s.live, strings.TrimSpace(rest); live == linux && s.name != "linux" && s.name != "gnu/linux" {
			rest = "" // the version of a distribution is not that of Linux
		}
		return live, rest, true
	}
	return "", "", false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func systemVersion(live, version string) string {
	switch live {
	case windows:
		version, _ = strings.CutPrefix(version, "NT ")
		if name := windowsVersions[version]; name != "" {
			return name
		}
	case macOS:
		version, _ = strings.CutPrefix(version, "Intel ")
	}
	return strings.ReplaceAll(version, "_", ".")
}

// DeviceType is the value of $device_type: "Desktop", "Mobile", "Tablet", "TV", "Wearable", "Console", or "" where the system
// and the model do not say it: systems for phones and tablets need a model. The system may have any name that OS knows.
// The model is the vendor's text, such as "iPhone15,2", "Apple iPad" or "SM-T870".
func DeviceType(os, model string) string {
	model = strings.ToLower(model)
	for _, m := range []struct{ part, kind string }{
		{"ipad", "Tablet"}, {"iphone", "Mobile"}, {"ipod", "Mobile"}, {"apple tv", "TV"}, {"appletv", "TV"}, {"apple watch", "Wearable"},
	} {
		if strings.Contains(model, m.part) {
			return m.kind
		}
	}
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(os)), "ipad") {
		return "Tablet"
	}
	switch live, _ := OS(os, ""); live {
	case windows, macOS, linux, chromeOS:
		return "Desktop"
	case android:
		return androidDevice(model)
	case "Windows Phone", "Windows Mobile", blackBerry:
		return "Mobile"
	case watchOS:
		return "Wearable"
	case "tvOS":
		return "TV"
	case "PlayStation", "Nintendo", "Xbox":
		return "Console"
	}
	return ""
}

// androidTablets are parts of the models of tablets: by name, or by the prefix of Samsung (SM-T, SM-P, SM-X) and Amazon
// (KF).
var androidTablets = []string{
	"tablet", "ipad", "galaxy tab", "pixel c", "nexus 7", "nexus 9", "nexus 10", "mediapad", "matepad", "mi pad", "lenovo tab",
	"redmi pad", "kindle", "sm-t", "sm-p", "sm-x", "gt-p",
}

func androidDevice(model string) string {
	switch {
	case model == "":
		return ""
	case strings.HasPrefix(model, "kf"), slices.ContainsFunc(androidTablets, func(part string) bool { return strings.Contains(model, part) }):
		return "Tablet"
	}
	return "Mobile"
}

// browsers are the names of browsers in small letters, and the values of $browser.
var browsers = map[string]string{
	"edge": "Microsoft Edge", "edge mobile": "Microsoft Edge", "edge chromium": "Microsoft Edge", "ms edge": "Microsoft Edge",
	"chromium": chrome, "chrome mobile": chrome, "mobile chrome": chrome, "chrome mobile webview": chrome, "chrome webview": chrome,
	"android webview": chrome, "headless chrome": chrome, "headlesschrome": chrome, "google chrome": chrome,
	"chrome mobile ios": "Chrome iOS", "firefox mobile": firefox, "mobile firefox": firefox, "mozilla firefox": firefox,
	"android browser": "Android Mobile", "safari mobile": mobileSafari, "safari (in-app)": mobileSafari,
	"mobile safari ui/wkwebview": mobileSafari, "ie": "Internet Explorer", "microsoft internet explorer": "Internet Explorer",
	"ie mobile": "Internet Explorer Mobile", "iemobile": "Internet Explorer Mobile", "opera mobile": "Opera", "opera touch": "Opera",
	"samsung browser": "Samsung Internet", "samsungbrowser": "Samsung Internet", "yabrowser": "Yandex", "yandex browser": "Yandex",
	"ucbrowser": "UC Browser", "uc browser mobile": "UC Browser", "whale browser": "Whale",
	"duckduckgo mobile": "DuckDuckGo", "brave mobile": "Brave",
}

const chrome, firefox, safari, mobileSafari = "Chrome", "Firefox", "Safari", "Mobile Safari"

// Browser is the value of $browser for the names that vendors use. PostHog names some browsers on iOS differently: "Safari"
// is "Mobile Safari" there, and "Chrome" is "Chrome iOS". A name that is not known stays as it is.
func Browser(name, os string) string {
	name = strings.TrimSpace(name)
	if live := browsers[strings.ToLower(name)]; live != "" {
		name = live
	}
	if live, _ := OS(os, ""); live == iOS {
		switch name {
		case safari:
			return mobileSafari
		case chrome, firefox:
			return name + " " + iOS
		}
	}
	return name
}

// BrowserVersion is the value of $browser_version: the text of the number that a version begins with, such as 17.2 of "17.2.1"
// and 120 of "120.0.6099.130", or "" if it begins with no number.
func BrowserVersion(version string) string { return Decimal(strings.TrimSpace(version)) }

// Version is the value of $browser_version for the raw value of a vendor: a number as it is, and the number that a text begins
// with, or nil if it begins with no number. isWhole reports whether it says all that the text says.
func Version(raw []byte) (number []byte, isWhole bool) {
	if !IsText(raw) {
		return raw, true
	}
	text := Text(raw)
	version := BrowserVersion(text)
	if version == "" {
		return nil, false
	}
	return []byte(version), text == version || text == version+".0"
}

// Language is the value of $browser_language for a code in small letters: en-GB of en-gb, as browsers have it. Others stay as
// they are.
func Language(code string) string {
	language, region, _ := strings.Cut(code, "-")
	const regionSize = 2
	if len(region) != regionSize || !isLetter(region[0]) || !isLetter(region[1]) {
		return code
	}
	for i := range language {
		if !isLetter(language[i]) {
			return code
		}
	}
	return language + "-" + strings.ToUpper(region)
}

// Decimal is the decimal number that a text begins with, in the form of JSON, with at most nine digits in each part, or "".
func Decimal(text string) string {
	const most = 9 // digits
	whole, rest := Digits(text)
	if whole == "" || len(whole) > most {
		return ""
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if !strings.HasPrefix(rest, ".") {
		return whole
	}
	fraction, _ := Digits(rest[1:])
	if fraction = strings.TrimRight(fraction, "0"); fraction == "" || len(fraction) > most {
		return whole
	}
	return whole + "." + fraction
}

// Digits are the digits that a text begins with, and the rest of the text.
func Digits(text string) (number, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	return text[:len(text)-len(rest)], rest
}
