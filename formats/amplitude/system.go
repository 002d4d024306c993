package amplitude

import (
	"slices"
	"strings"

	"github.com/hogapi/hogapi/formats/internal/record"
)

const (
	iOS     = "iOS"
	android = "Android"
)

// system sends the browser, the operating system, the device and the language. On the web, os_name is the browser
// and device_type the operating system or the device; elsewhere os_name is the operating system.
func (s *converter) system() {
	name, platform := record.Text(s.row.Get("os_name")), record.Text(s.row.Get("platform"))
	device, model := record.Text(s.row.Get("device_type")), record.Text(s.row.Get("device_model"))
	isWeb := !record.IsOS(name) && (platform == "" || strings.EqualFold(platform, "web"))
	var system string
	if isWeb {
		system = s.webSystem(name, device, model)
		s.browser(name, system)
	} else {
		system = s.ownSystem(name, platform)
	}
	kind := record.DeviceType(system, strings.TrimSpace(device+" "+model))
	if kind == "" && (system == iOS || system == android) {
		kind = "Mobile"
	}
	s.props.AddTextOfBoth("$os", system)
	s.props.AddTextOfBoth("$device_type", kind)
	if live, _ := record.OS(model, ""); record.IsOS(model) && live != iOS { // no device, but its system
		s.extra("device_model", s.row.Get("device_model"))
	} else {
		s.move(s.row.Get("device_model"), "$device_model", "device_model")
	}
	if code := languageCode(record.Text(s.row.Get("language"))); code != "" && isWeb {
		s.props.AddText("$browser_language", code)
	} else if code != "" {
		s.props.AddText("$locale", code)
	}
}

// webSystem is the operating system of a browser. Amplitude has it, or the device, in device_type.
func (s *converter) webSystem(browser, device, model string) string {
	for _, name := range [...]string{device, model, record.Text(s.row.Get("device_family"))} {
		if name = strings.TrimPrefix(name, "Apple "); record.IsOS(name) {
			live, version := record.OS(name, "")
			s.props.AddTextOfBoth("$os_version", version)
			return live
		}
	}
	if isAndroid(browser, device) {
		return android
	}
	return device // as PostHog's own importer
}

// isAndroid reports whether the name of a browser or of a device says that the system is Android.
func isAndroid(browser, device string) bool {
	browser, device = strings.ToLower(browser), strings.ToLower(device)
	begins := func(name string, with []string) bool {
		return slices.ContainsFunc(with, func(text string) bool { return strings.HasPrefix(name, text) })
	}
	return begins(browser, androidBrowsers) && !strings.HasSuffix(browser, " ios") || begins(device, androidBrands)
}

// The beginnings of the names of browsers and devices with Android, in small letters.
var (
	androidBrowsers = []string{"android", "samsung", "chrome mobile"}
	androidBrands   = []string{
		"android", "samsung ", "google pixel", "pixel ", "xiaomi ", "redmi ", "huawei ", "honor ", "oneplus ", "oppo ", "vivo ", "realme ",
		"motorola ", "moto ", "lg ", "htc ", "sony ", "nexus ", "asus ", "zte ", "tecno ", "infinix ",
	}
)

func (s *converter) browser(name, system string) {
	raw := s.row.Get("os_name")
	if live := record.Browser(name, system); live != name {
		s.props.AddTextOfBoth("$browser", live)
		s.extra("os_name", raw)
	} else {
		s.moveBoth(raw, "$browser", "os_name")
	}
	given := s.row.Get("os_version")
	version, isWhole := record.Version(given)
	if version == nil {
		version, isWhole = given, true
	}
	s.moveBoth(version, "$browser_version", "os_version")
	if !isWhole {
		s.extra("os_version", given)
	}
}

// ownSystem is the operating system of an application.
func (s *converter) ownSystem(name, platform string) (system string) {
	raw := s.row.Get("os_version")
	if name == "" && record.IsOS(platform) {
		name = platform
	}
	given := record.Text(raw)
	system, version := name, given
	if record.IsOS(name) {
		system, version = record.OS(name, given)
	}
	if !strings.EqualFold(system, name) || name == "" {
		s.extra("os_name", s.row.Get("os_name"))
	}
	if version == given {
		s.moveBoth(raw, "$os_version", "os_version")
	} else {
		s.props.AddTextOfBoth("$os_version", version)
	}
	return system
}

// move sends a field under PostHog's name, or as one that is not mapped where an event property has
// that name.
func (s *converter) move(value []byte, to, from string) (isMoved bool) {
	if record.IsEmpty(value) {
		return false
	}
	if isMoved = s.props.Add(to, value); !isMoved {
		s.extra(from, value)
	}
	return isMoved
}

// moveBoth is move for a property of the event and of its person.
func (s *converter) moveBoth(value []byte, to, from string) {
	if s.move(value, to, from) {
		s.props.AddPerson(to, value)
	}
}
