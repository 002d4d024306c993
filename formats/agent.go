package formats

// Agent is the program and device that an event comes from, in the words that posthog-js uses. A format leaves a
// property out if its field is empty.
type Agent struct {
	Browser        string // $browser, such as "Chrome", "Mobile Safari" or "Microsoft Edge"
	BrowserVersion string // $browser_version: 120 or 17.2 is sent as a number, as posthog-js does, and 120.0.6099 as a text
	OS             string // $os, such as "Mac OS X", "Windows", "iOS" or "Android"
	OSVersion      string // $os_version, such as "10.15.7", or "10" for Windows
	DeviceType     string // $device_type: "Desktop", "Mobile", "Tablet", "Console" or "Wearable"
	IsBot          bool   // the agent says that it is a crawler or another program without a person
}

// AgentParser reads a user agent, the text that a browser sends of itself. It is called by many goroutines at
// once, gives the same answer for the same text, and takes a text of any length that need not be UTF-8. The
// module github.com/hogapi/hogapi/formats/useragent has one.
type AgentParser func(userAgent string) Agent
