package amplitude

import (
	"strings"

	"github.com/hogapi/hogapi/formats/internal/record"
)

// Kinds of devices, as PostHog names them.
const (
	desktop = "Desktop"
	mobile  = "Mobile"
	tablet  = "Tablet"
)

// system sends the browser, the operating system and the device. On the web, os_name is the browser
// and device_type the operating system; elsewhere os_name is the operating system.
func (s *converter) system() {
	s.move(s.manufacturer, "$device_manufacturer", "device_manufacturer")
	s.move(s.model, "$device_model", "device_model")
	s.move(s.version, "$app_version", "version_name")
	name, platform, device := record.Text(s.os), record.Text(s.platform), record.Text(s.deviceType)
	system, kind := systemOf(name)
	if system == "" && (platform == "" || strings.EqualFold(platform, "web")) {
		s.movePerson(s.os, "$browser", "os_name")
		s.movePerson(asNumber(s.osVersion), "$browser_version", "os_version")
		system, kind = systemOf(device)
		if system == "" || kind == desktop {
			system = device // as PostHog's own importer
		}
	} else {
		if system == "" {
			system = name
		}
		if !strings.EqualFold(system, name) || name == "" {
			s.extra("os_name", s.os)
		}
		s.movePerson(s.osVersion, "$os_version", "os_version")
	}
	if kind == mobile && (hasWord(device, "ipad") || hasWord(device, "tablet") || hasWord(record.Text(s.model), "ipad")) {
		kind = tablet
	}
	s.props.AddTextOfBoth("$os", system)
	s.props.AddTextOfBoth("$device_type", kind)
}

func hasWord(text, word string) bool { return strings.Contains(strings.ToLower(text), word) }

// movePerson is move for a property of the event and of its person.
func (s *converter) movePerson(value []byte, to, from string) {
	if s.move(value, to, from) {
		s.props.AddPerson(to, value)
	}
}

// systemOf is an operating system as PostHog names it, with the kind of its devices, or "" where
// the name is of something else, such as a browser.
func systemOf(name string) (system, kind string) {
	switch strings.ToLower(name) {
	case "ios", "iphone os", "iphone", "apple iphone", "ipad", "apple ipad", "ipados":
		return "iOS", mobile
	case "android":
		return "Android", mobile
	case "windows":
		return "Windows", desktop
	case "mac", "mac os", "mac os x", "macos":
		return "Mac OS X", desktop
	case "linux":
		return "Linux", desktop
	case "chrome os", "chromeos":
		return "Chrome OS", desktop
	case "tvos":
		return "tvOS", ""
	case "watchos":
		return "watchOS", ""
	}
	return "", ""
}

// asNumber is the number that a raw text holds, if it holds a whole one, and else the text.
func asNumber(raw []byte) []byte {
	if len(raw) < 3 || raw[0] != '"' || len(raw) > len(`"123456789"`) {
		return raw
	}
	digits := raw[1 : len(raw)-1]
	for _, c := range digits {
		if c < '0' || c > '9' {
			return raw
		}
	}
	if digits[0] == '0' && len(digits) > 1 {
		return raw
	}
	return digits
}
