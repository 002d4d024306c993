package main

import (
	"fmt"
	"os"
	"time"
)

// invent writes a file of invented events, such as another product could export.
func invent(events int) (path string, err error) {
	file, err := os.CreateTemp("", "events-*.jsonl")
	if err != nil {
		return "", err
	}
	defer file.Close()
	begin := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range events {
		at := begin.Add(time.Duration(i) * 5 * time.Second).Format(time.RFC3339)
		const line = `{"event":"order placed","distinct_id":"person-%d","timestamp":"%s","properties":{"order":%d}}` + "\n"
		if _, err := fmt.Fprintf(file, line, i%500, at, i); err != nil {
			return file.Name(), err
		}
	}
	return file.Name(), file.Close()
}
