// Package browser has the tests that open pages in a real browser: the page of hogfake, and the reports of hogimport, light and dark, on
// a phone's width and printed. The tests need Chromium (Debian: chromium). Without it they are skipped, which the nightly run counts as a
// failure. With HOGAPI_SCREENSHOTS=DIR they keep the screenshots of the reports for inspection.
package browser
