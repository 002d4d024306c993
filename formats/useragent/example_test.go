package useragent_test

import (
	"fmt"

	"github.com/hogapi/hogapi/formats/useragent"
)

func ExampleParse() {
	a := useragent.Parse("Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
		"Version/16.6 Mobile/15E148 Safari/604.1")
	fmt.Println(a.Browser, a.BrowserVersion, "|", a.OS, a.OSVersion, "|", a.DeviceType)
	// Output:
	// Mobile Safari 16.6 | iOS 16.6.0 | Tablet
}

func ExampleCached() {
	parse := useragent.Cached(10_000)
	for range 3 { // parsed once
		fmt.Println(parse("Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0").Browser)
	}
	// Output:
	// Firefox
	// Firefox
	// Firefox
}
