package ga4

import (
	"cmp"
	"strings"

	"github.com/hogapi/hogapi/formats/internal/record"
)

// device has the members of the column device that say more together than alone.
type device struct {
	category, system, version, language             []byte
	browser, webBrowser, browserVersion, webVersion []byte
	brand, model, name                              []byte
}

// fields are the members by their paths within the column.
func (d *device) fields() record.Fields {
	return record.Fields{
		"category": &d.category, "language": &d.language,
		"operating_system": &d.system, "operating_system_version": &d.version,
		"browser": &d.browser, "browser_version": &d.browserVersion,
		"web_info.browser": &d.webBrowser, "web_info.browser_version": &d.webVersion,
		"mobile_brand_name": &d.brand, "mobile_model_name": &d.model, "mobile_marketing_name": &d.name,
	}
}

var deviceTypes = map[string]string{"desktop": "Desktop", "mobile": "Mobile", "tablet": "Tablet"}

// addDevice adds the properties of the device, in the words of PostHog's own SDKs. On desktops Google has names of
// browsers where it has the model of a phone.
func (c *columns) addDevice() {
	d := &c.device
	category := record.Text(d.category)
	system, version := record.OS(record.Text(d.system), record.Text(d.version))
	c.addLive("$device_type", "category", d.category, cmp.Or(deviceTypes[category], category))
	c.addLive("$os", "operating_system", d.system, system)
	c.addLive("$os_version", "operating_system_version", d.version, version)
	for _, m := range [...]struct {
		to, name string
		value    []byte
	}{
		{"$device_manufacturer", "mobile_brand_name", d.brand},
		{"$device_model", "mobile_model_name", d.model},
		{"$device_name", "mobile_marketing_name", d.name},
	} {
		switch {
		case len(m.value) == 0:
		case category == "desktop" || isOther(m.value):
			c.keep(m.name, m.value)
		default:
			c.add(m.to, m.name, m.value)
		}
	}
	c.addLive("$browser_language", "language", d.language, record.Language(record.Text(d.language)))
	c.addLive("$browser", "browser", d.browser, record.Browser(record.Text(d.browser), system))
	c.addVersion(d.browserVersion)
	c.to = &c.inner
	c.addLive("$browser", "browser", d.webBrowser, record.Browser(record.Text(d.webBrowser), system))
	c.addVersion(d.webVersion)
	c.to = &c.left
}

// addVersion adds the version of the browser as a number. A version with more parts stays where it was too.
func (c *columns) addVersion(raw []byte) {
	if len(raw) == 0 {
		return
	}
	version, isWhole := record.Version(raw)
	if version == nil {
		version, isWhole = raw, true
	}
	if isAdded := c.out.Add("$browser_version", version) || c.out.Has("$browser_version", version); !isAdded || !isWhole {
		c.keep("browser_version", raw)
	}
}

// isOther reports whether a value is Google's name of a device or system that it does not know.
func isOther(raw []byte) bool {
	if len(raw) < 2 || raw[1] != '\\' {
		return len(raw) > 1 && raw[0] == '"' && raw[1] == '<'
	}
	return strings.HasPrefix(record.Text(raw), "<")
}

// addLive adds a property with PostHog's value for Google's. Where it is there with another value, or Google does not
// know it, the member stays where it was.
func (c *columns) addLive(target, name string, raw []byte, live string) {
	switch {
	case len(raw) == 0:
	case isOther(raw):
		c.keep(name, raw)
	case !record.IsText(raw):
		c.add(target, name, raw)
	case live != "" && !c.out.AddText(target, live) && record.Text(c.out.Get(target)) != live:
		c.keep(name, raw)
	}
}
