// Package fetch downloads the raw event exports of Mixpanel and Amplitude into a folder.
//
// The export is taken in parts: a day or more of Mixpanel, a day or less of Amplitude, where a day can be more than
// one answer may hold. A part is written under another name, read as a whole, and made durable before it gets its own
// name; a log in the folder says which parts are there. So a file with the name of a part is whole, whenever the
// process ends, and the next [Job.Run] downloads only missing parts.
//
// Both services include both ends of the range that is asked for. Parts are whole days or hours that do not
// overlap, so nothing is asked for twice.
//
// No error, log line or name of a file has a key, a URL or a part of an answer.
package fetch
