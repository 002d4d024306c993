package useragent

import (
	"strings"

	"github.com/hogapi/hogapi/formats/internal/record"
)

const windows, macOS, iOS, android, linux, watchOS = "Windows", "Mac OS X", "iOS", "Android", "Linux", "watchOS"

// windowsVersions are the names of the versions of Windows NT.
var windowsVersions = map[string]string{
	"5.0": "2000", "5.1": "XP", "5.2": "XP", "6.0": "Vista", "6.1": "7", "6.2": "8", "6.3": "8.1", "6.4": "10", "10.0": "10",
}

// system is the name that posthog-js has for the operating system, and the version.
func (a agent) system() (name, version string) {
	switch {
	case a.has("Xbox; Xbox "):
		_, model, _ := strings.Cut(a.text, "Xbox; Xbox ")
		if end := strings.IndexAny(model, ");"); end >= 0 {
			return "Xbox", model[:end]
		}
		return "Xbox", ""
	case a.hasFold("nintendo"):
		return "Nintendo", ""
	case a.hasFold("playstation"):
		return "PlayStation", ""
	case a.has("BlackBerry", "BB10", "PlayBook"):
		return blackBerry, ""
	case a.hasFold("windows"):
		return a.windows()
	}
	switch a.parsed.OS {
	case "iOS":
		return iOS, threeParts(a.parsed.OSVersion)
	case "macOS":
		return macOS, threeParts(a.parsed.OSVersion)
	case "Android":
		if a.has("Android") { // the library takes every Samsung browser for one of Android
			return android, threeParts(a.parsed.OSVersion)
		}
	}
	return a.otherSystem()
}

func (a agent) windows() (name, version string) {
	switch {
	case a.has("Phone", "WPDesktop"):
		return "Windows Phone", ""
	case a.has("Mobile") && !a.has("IEMobile"):
		return "Windows Mobile", ""
	case a.parsed.OS == windows && a.has("; ARM;"):
		return windows, "RT"
	case a.parsed.OS == windows:
		return windows, windowsVersions[a.parsed.OSVersion]
	}
	return windows, ""
}

// otherSystem finds the systems that the library does not know, or only where their name stands apart.
func (a agent) otherSystem() (name, version string) {
	switch {
	case a.has("iPhone", "iPad", "iPod"):
		_, behind, _ := strings.Cut(a.text, " OS ")
		version, _, _ = strings.Cut(behind, " ")
		return iOS, threeParts(strings.ReplaceAll(version, "_", "."))
	case a.hasFold("watchos/"):
		_, behind, _ := strings.Cut(a.lower, "watchos/")
		version, _, _ = strings.Cut(behind, " ")
		return watchOS, threeParts(version)
	case a.hasFold("watch os,"):
		_, behind, _ := strings.Cut(a.lower, "watch os,")
		return watchOS, record.Decimal(behind)
	case a.isWatch():
		_, behind, _ := strings.Cut(a.text, "/")
		version, _, _ = strings.Cut(behind, " ")
		return watchOS, threeParts(version)
	case a.hasFold("android"):
		return android, a.androidVersion()
	case a.has("Mac"):
		return macOS, ""
	case a.has("CrOS"):
		return "Chrome OS", ""
	case a.hasFold("linux", "debian"):
		return linux, ""
	}
	return "", ""
}

func (a agent) androidVersion() string {
	_, behind, _ := strings.Cut(a.lower, "android ")
	end := strings.IndexFunc(behind, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end >= 0 {
		behind = behind[:end]
	}
	return threeParts(behind)
}

// isWatch reports whether an agent begins with the model of an Apple Watch, such as "Watch4,3/5.3.8".
func (a agent) isWatch() bool {
	model, isWatch := strings.CutPrefix(a.text, "Watch")
	return isWatch && len(model) > len("4,3/") && model[1] == ',' && model[3] == '/'
}

// threeParts is a version with three numbers; a missing third one is 0. posthog-js does not make a version of a single
// number: Android 10 and later do not have one.
func threeParts(version string) string {
	parts := make([]string, 0, 3)
	for part := range strings.SplitSeq(version, ".") {
		if n, rest := record.Digits(part); n != "" && len(n) < 10 && len(parts) < 3 {
			if parts = append(parts, n); rest == "" {
				continue
			}
		}
		break
	}
	switch len(parts) {
	case 2:
		return parts[0] + "." + parts[1] + ".0"
	case 3:
		return strings.Join(parts, ".")
	}
	return ""
}

// device is the value of $device_type, or "" where the agent does not say that it is no desktop.
func (a agent) device(os string) string {
	switch {
	case a.hasFold("nintendo ", "playstation ", "xbox", "ouya"):
		return "Console"
	case a.has("Windows Phone", "WPDesktop"):
		return "Mobile"
	case a.has("iPad"):
		return "Tablet"
	case os == iOS, os == blackBerry:
		return "Mobile"
	case os == watchOS:
		return "Wearable"
	case a.hasFold("kobo ereader", "kobo touch"):
		return "Tablet"
	case a.hasFold("nokia"):
		return "Mobile"
	case os == android, a.has("ZTE", "; KF"):
		return a.androidDevice()
	case a.hasFold("mobile", "pda"):
		return "Mobile"
	case a.hasFold("tablet") && !a.hasFold("tablet pc"):
		return "Tablet"
	}
	return ""
}

// mobileTablets are parts of the models of tablets that call themselves mobile, in small letters: Google's, Amazon's
// (KF, AEO) and Huawei's. silentPhones are parts of the models of phones that do not.
var (
	mobileTablets = []string{"nexus 7", "nexus 9", "pixel c", "; kf", "; aeo", "; btv-"}
	silentPhones  = []string{"pixel "}
)

func (a agent) androidDevice() string {
	isTablet := a.hasFold(mobileTablets...)
	switch {
	case strings.HasPrefix(a.text, "Dalvik/"): // an app, which never says so
		return ""
	case a.has("Mobile") && !isTablet, !isTablet && a.hasFold(silentPhones...):
		return "Mobile"
	}
	return "Tablet"
}
