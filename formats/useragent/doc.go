// Package useragent reads user agents into the values that PostHog's live events have, so that an imported history and the events after
// it fall into the same rows of a report. Give a parser to the options of a vendor's format:
//
//	options.UserAgent = useragent.Cached(10_000)
//
// It is a separate module, since it needs github.com/mileusna/useragent (MIT licence), which finds the common browsers, the system and
// its version, and bots. The rules of this package put PostHog's names in place of the library's, and correct it where posthog-js says
// something else. Of 579 agents in posthog-js's own tests, all get the browser, its version and the system that posthog-js gives them,
// 577 the version of the system, and 563 (97 %) the type of the device: for that, posthog-js has lists of models of phones and tablets,
// and this package only the common ones.
//
// Some values may surprise, but match live events: Edge on a phone is "Chrome" or "Mobile Safari", an Android of
// version 10 or later has no $os_version, and a rare browser with the engine of another one has that one's name.
//
// An agent of which nothing is known, such as that of a server's library, has no values, where posthog-js would say "Desktop". Android's
// own agent in apps ("Dalvik/…") says neither the browser nor the type of the device. Bots have the values of the browser that they claim
// to be, and IsBot.
package useragent
