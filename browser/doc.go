// Package browser holds the tests that open pages in a real browser: that of hogfake, and the reports of
// hogimport, light and dark, on a phone's width and printed. It needs Chromium (Debian: chromium);
// without it the tests skip themselves, which the nightly run takes for a failure. With
// HOGAPI_SCREENSHOTS=DIR the screenshots of the reports are kept, to be looked at.
package browser
