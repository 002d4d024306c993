// Package hogapi is an unofficial client for a part of PostHog's API: batch exports and their runs, app metrics,
// dashboards, and the import of past events.
package hogapi
