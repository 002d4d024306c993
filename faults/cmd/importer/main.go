//go:build linux && (amd64 || arm64)

// Command importer is the program that the tests of this module kill and starve. They also break its files.
package main

import "github.com/hogapi/hogapi/faults/importer"

func main() { importer.Main() }
