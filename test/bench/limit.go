package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/google/uuid"
	"github.com/klauspost/compress/gzip"
)

const batchSize = 1000

// The limit is a lower bound, not a design: hand-written JSON, three senders, no checks, no retries, no accounts.
const limitSenders = 3

func prepareLimit(zipped bool) prepare {
	return func(j job) (func() (string, error), error) {
		client, ring := pooledClient(), newRing(j.Events)
		return func() (string, error) { return "", sendLimit(j, client, ring, zipped) }, nil
	}
}

func sendLimit(j job, client *http.Client, ring []event, zipped bool) error {
	free, full := make(chan []byte, limitSenders+1), make(chan []byte)
	for range cap(free) {
		free <- nil
	}
	var senders sync.WaitGroup
	errs := make([]error, limitSenders)
	for i := range limitSenders {
		senders.Go(func() {
			var packed bytes.Buffer
			writer, _ := gzip.NewWriterLevel(nil, 1) // the level is valid
			for body := range full {
				wire := body
				if zipped {
					packed.Reset()
					writer.Reset(&packed)
					_, _ = writer.Write(body) // to memory
					_ = writer.Close()
					wire = packed.Bytes()
				}
				errs[i] = errors.Join(errs[i], post(client, j.URL, wire, zipped))
				free <- body
			}
		})
	}
	for sent := 0; sent < j.Events; {
		body := append((<-free)[:0], bodyPrefix...)
		for first := sent; sent < min(first+batchSize, j.Events); sent++ {
			if sent > first {
				body = append(body, ',')
			}
			body = appendEvent(body, &ring[sent%len(ring)], eventID(sent))
		}
		full <- append(body, bodySuffix...)
	}
	close(full)
	senders.Wait()
	return errors.Join(errs...)
}

// The naive loop works like a simple script: encoding/json, one goroutine, one request after another, an error is the end.
func prepareNaive(j job) (func() (string, error), error) {
	type wireEvent struct {
		Event      string         `json:"event"`
		UUID       uuid.UUID      `json:"uuid"`
		DistinctID string         `json:"distinct_id"`
		Timestamp  string         `json:"timestamp"`
		Properties map[string]any `json:"properties"`
	}
	type wireBatch struct {
		APIKey     string      `json:"api_key"`
		Historical bool        `json:"historical_migration"`
		Batch      []wireEvent `json:"batch"`
	}
	client, ring := pooledClient(), newRing(j.Events)
	return func() (string, error) {
		batch := wireBatch{APIKey: apiKey, Historical: true}
		for sent := range j.Events {
			ev := &ring[sent%len(ring)]
			batch.Batch = append(batch.Batch, wireEvent{ev.name, eventID(sent), ev.person, ev.time.Format("2006-01-02T15:04:05.999999999Z07:00"), ev.properties})
			if len(batch.Batch) < batchSize && sent < j.Events-1 {
				continue
			}
			body, err := json.Marshal(batch)
			if err != nil {
				return "", err
			}
			if err := post(client, j.URL, body, false); err != nil {
				return "", err
			}
			batch.Batch = batch.Batch[:0]
		}
		return "", nil
	}, nil
}

func pooledClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
}

func post(client *http.Client, url string, body []byte, zipped bool) error {
	req, err := http.NewRequest(http.MethodPost, url+"/batch/", bytes.NewReader(body)) //nolint:noctx // ends with the process
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if zipped {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}
