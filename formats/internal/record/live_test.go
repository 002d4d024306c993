package record

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOS(t *testing.T) {
	t.Parallel()
	for given, want := range map[[2]string][2]string{
		{"Mac", ""}: {"Mac OS X", ""}, {"Macintosh", "Intel 10.15"}: {"Mac OS X", "10.15"}, {"macOS", "14.1"}: {"Mac OS X", "14.1"},
		{"Mac OS", "Macintosh Intel 10.15"}: {"Mac OS X", "10.15"}, {"Mac OS X", "10_15_7"}: {"Mac OS X", "10.15.7"},
		{"Mac 10.13", ""}: {"Mac OS X", "10.13"}, {"OS X", "10.9"}: {"Mac OS X", "10.9"},
		{"iPhone OS", "17.2"}: {"iOS", "17.2"}, {"ios", "iOS 17.2"}: {"iOS", "17.2"}, {"iPadOS", "17.2"}: {"iOS", "17.2"},
		{"android", "14"}: {"Android", "14"}, {"Android", "Android 12"}: {"Android", "12"}, {"Android 4.4.2", ""}: {"Android", "4.4.2"},
		{"Windows 10", ""}: {"Windows", "10"}, {"Windows", "Windows 11"}: {"Windows", "11"}, {"Windows XP", ""}: {"Windows", "XP"},
		{"Windows", "NT 6.3"}: {"Windows", "8.1"}, {"Windows NT 10.0", ""}: {"Windows", "10"}, {"Windows", "10.0"}: {"Windows", "10"},
		{"Windows", "10.0.19045"}: {"Windows", "10.0.19045"}, {"Windows Phone 8.1", ""}: {"Windows Phone", "8.1"},
		{"Chrome OS", "Chrome OS 14541.0.0"}: {"Chrome OS", "14541.0.0"}, {"CrOS", ""}: {"Chrome OS", ""},
		{"Ubuntu 22.04", ""}: {"Linux", ""}, {"linux", "6.1"}: {"Linux", "6.1"}, {" watchOS ", " 9.1 "}: {"watchOS", "9.1"},
		{"PlayStation 4", ""}: {"PlayStation", "4"}, {"BlackBerry OS", "7"}: {"BlackBerry", "7"},
		// not known, and not the name of another system
		{"", ""}: {"", ""}, {"KaiOS", "2.5"}: {"KaiOS", "2.5"}, {"Machine", "1"}: {"Machine", "1"}, {"Androidx", ""}: {"Androidx", ""},
		{"iOS", "Android 12"}: {"iOS", "Android 12"}, {"\xff", "\xff"}: {"\xff", "\xff"},
	} {
		os, version := OS(given[0], given[1])
		assert.Equal(t, want, [2]string{os, version}, given)
	}
}

func TestIsOS(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Mac": true, "ios": true, " Windows 10 ": true, "Windows XP": true, "Windows NT 10.0": true, "Macintosh Intel 10.15": true, "Android": true,
		"Android Browser": false, "Android Webview": false, "Windows Store": false, "Chrome": false, "iPhone": true, "iPhone X": false,
		"BeOS": false, "": false,
	} {
		assert.Equal(t, want, IsOS(text), text)
	}
}

func TestDeviceType(t *testing.T) {
	t.Parallel()
	for given, want := range map[[2]string]string{
		{"iOS", "iPhone15,2"}: "Mobile", {"iPhone OS", "Apple iPad"}: "Tablet", {"iOS", "iPod touch"}: "Mobile", {"iOS", ""}: "",
		{"iPadOS", ""}: "Tablet", {"", "iPad13,4"}: "Tablet", {"Mac", ""}: "Desktop", {"Windows 10", "PC"}: "Desktop",
		{"Linux", ""}: "Desktop", {"Chrome OS", ""}: "Desktop", {"android", ""}: "", {"android", "Pixel 7"}: "Mobile",
		{"Android", "SM-T870"}: "Tablet", {"Android", "SM-G991B"}: "Mobile", {"Android", "KFTRWI"}: "Tablet",
		{"Android", "Pixel Tablet"}: "Tablet", {"tvOS", ""}: "TV", {"iOS", "Apple TV"}: "TV", {"watchOS", ""}: "Wearable",
		{"Windows Phone", "Lumia 635"}: "Mobile", {"PlayStation 4", ""}: "Console", {"KaiOS", "x"}: "", {"", ""}: "",
	} {
		assert.Equal(t, want, DeviceType(given[0], given[1]), given)
	}
}

func TestBrowser(t *testing.T) {
	t.Parallel()
	for given, want := range map[[2]string]string{
		{"Safari", "Mac"}: "Safari", {"Safari", "iOS"}: "Mobile Safari", {"Safari (in-app)", "iOS"}: "Mobile Safari",
		{"Chrome", "iPhone OS"}: "Chrome iOS", {"Chrome Mobile", "Android"}: "Chrome", {"Chrome Mobile iOS", ""}: "Chrome iOS",
		{"Firefox", "ios"}: "Firefox iOS", {"Edge", "Windows"}: "Microsoft Edge", {"IE", ""}: "Internet Explorer",
		{"Android Webview", "Android"}: "Chrome", {"SAMSUNG BROWSER", ""}: "Samsung Internet", {"Opera Mini", ""}: "Opera Mini",
		{" Something ", ""}: "Something", {"", "iOS"}: "",
	} {
		assert.Equal(t, want, Browser(given[0], given[1]), given)
	}
	for given, want := range map[string]string{
		"120.0.6099.130": "120", "17.2.1": "17.2", "17": "17", "22.08.0": "22.08", "5.20": "5.2", "44.17763.831": "44.17763",
		"007.1": "7.1", "0.0": "0", " 8.3b58 ": "8.3", "8.": "8", "G6.0": "", "": "", ".5": "", "-1": "", "1234567890": "", "1.1234567890123": "1",
	} {
		assert.Equal(t, want, BrowserVersion(given), given)
	}
}

func TestCountries(t *testing.T) {
	t.Parallel()
	for code, name := range countries {
		assert.Equal(t, code, CountryCode(name), name)
		assert.Equal(t, code, CountryCode(strings.ToUpper(name)), name)
		assert.Equal(t, code, CountryCode(code))
		assert.Equal(t, name, CountryName(code))
		assert.Equal(t, name, CountryName([]byte(code)))
	}
	keys := map[string]string{} // no name is that of two countries
	for code, name := range countries {
		keys[countryKey(name)] = code
	}
	for code, names := range spellings {
		assert.Contains(t, countries, code)
		for name := range strings.SplitSeq(names, "|") {
			assert.Equal(t, code, CountryCode(name), name)
			if other, isTaken := keys[countryKey(name)]; isTaken {
				t.Errorf("%q of %s is there already, of %s", name, code, other)
			}
			keys[countryKey(name)] = code
		}
	}
	for name, want := range map[string]string{
		"Turkey": "TR", "Türkiye": "TR", "Czech Republic": "CZ", "Czechia": "CZ", "South Korea": "KR", "Russia": "RU", "Vietnam": "VN",
		"Hong Kong": "HK", "Taiwan": "TW", "Myanmar (Burma)": "MM", "Côte d’Ivoire": "CI", "Côte d'Ivoire": "CI", "Cote D'Ivoire": "CI",
		"North Macedonia": "MK", "Bosnia & Herzegovina": "BA", "St. Lucia": "LC", "ST LUCIA": "LC", "St. Vincent & Grenadines": "VC",
		"Bahamas, The": "BS", "Gambia": "GM", "Netherlands": "NL", "U.S. Virgin Islands": "VI", "Curacao": "CW", "Reunion": "RE", "São Tomé & Príncipe": "ST", "USA": "US", "  france ": "FR",
		"Curac\u0327ao": "CW", "Guinea": "GN", "Guinea-Bissau": "GW", "Niger": "NE", "Nigeria": "NG", "Dominica": "DM", "Dominican Republic": "DO",
		"Korea": "", "": "", "(not set)": "", "XX": "", "us": "", "The": "", "Atlantis": "", "\xff\xfe": "",
	} {
		assert.Equal(t, want, CountryCode(name), name)
	}
	assert.Empty(t, CountryCode(strings.Repeat("France ", 1<<17)))
	assert.Empty(t, CountryName("XX"))
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`122`: "122 true", `"122"`: "122 true", `"122.0"`: "122 true", `"122.0.6261.94"`: "122 false", `"17.2"`: "17.2 true", `"17.2.1"`: "17.2 false",
		`"beta"`: " false", `"1234567890"`: " false", `null`: "null true",
	} {
		number, isWhole := Version([]byte(raw))
		assert.Equal(t, want, fmt.Sprintf("%s %t", number, isWhole), raw)
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	for language, want := range map[string]string{
		"en-gb": "en-GB", "en-GB": "en-GB", "zh-cn": "zh-CN", "de": "de", "fil-ph": "fil-PH", "en-": "en-", "zh-hant-tw": "zh-hant-tw", "": "", "es-419": "es-419",
		"e1-gb": "e1-gb", "Klingon": "Klingon",
	} {
		assert.Equal(t, want, Language(language), language)
	}
}
