// Package realdb has the tests that need real engines: a ClickHouse (the library of npm's chdb), PostHog's own parser of
// HogQL (npm), Postgres, and a strict S3 (versitygw). Without them, the tests skip themselves; .ci/run nightly installs
// them.
package realdb
