// Package browser holds the test that opens the page of hogfake in a real browser. It needs
// Chromium (Debian: chromium); without it the test skips itself, which the nightly run takes for a
// failure.
package browser
