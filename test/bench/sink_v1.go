package main

import (
	"bytes"
	"io"
	"iter"
	"net/http"
)

func uuids(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for {
			_, rest, _ := bytes.Cut(text, []byte(`"uuid":"`))
			if len(rest) < 36 || !yield(rest[:36]) {
				return
			}
			text = rest
		}
	}
}

// answerV1 answers a request to capture v1: every event is accepted. It has to read the body for that, and the clients wait for it.
func answerV1(w http.ResponseWriter, r *http.Request, k kept) {
	text, err := k.plain()
	if err != nil {
		http.Error(w, `{"error":"request_decoding_error"}`, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	answer := []byte(`{"results":{`)
	begin := len(answer)
	for id := range uuids(text) {
		if len(answer) > begin {
			answer = append(answer, ',')
		}
		answer = append(append(append(answer, '"'), id...), `":{"result":"ok"}`...)
	}
	if len(answer) == begin {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"empty_batch"}`)
		return
	}
	w.Header().Set("PostHog-Request-Id", r.Header.Get("PostHog-Request-Id"))
	_, _ = w.Write(append(answer, "}}"...))
}
