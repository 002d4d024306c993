package hogapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hogapi/hogapi/internal/httptry"
)

// completed is an answer that knows whether it is one: JSON of something else, such as {} or null,
// decodes without an error.
type completed interface{ complete() error }

// listed is an answer that holds a list.
type listed interface {
	decodeRows(ctx context.Context, body []byte) error
}

// decodeAnswer decodes a body within the bounds of memory. It ends with ctx.
func decodeAnswer(ctx context.Context, body []byte, out any) error {
	err := httptry.Weigh(ctx, body, out)
	if err != nil {
		return err
	}
	if list, ok := out.(listed); ok {
		err = list.decodeRows(ctx, body)
	} else {
		err = httptry.Unmarshal(body, out)
	}
	if err == nil {
		err = completeness(out)
	}
	return err
}

func completeness(answer any) error {
	if answer, ok := answer.(completed); ok {
		return answer.complete()
	}
	return nil
}

// matching is an answer that must also match what was asked for.
type matching[T any] struct {
	answer  T
	matches func(*T) error
}

func (m *matching[T]) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &m.answer) }

func (m *matching[T]) complete() error {
	if err := completeness(&m.answer); err != nil {
		return err
	}
	return m.matches(&m.answer)
}

// isAskedFor refuses an answer about another thing than the one that was asked for.
func isAskedFor[T comparable](key string, got, want T) error {
	if got != want {
		return fmt.Errorf("it has the %s %v, not %v, which was asked for", key, got, want)
	}
	return nil
}

func hasID[T comparable](id T) error {
	var none T
	if id == none {
		return errors.New("it has no id")
	}
	return nil
}

func hasText(text, key string) error {
	if text == "" {
		return errors.New("it has no " + key)
	}
	return nil
}

func allComplete[T any](rows []T) error {
	for i := range rows {
		if err := completeness(&rows[i]); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// rowsOf reads the list of an answer that is an object, and the other members that are asked
// for. Each row must be complete.
func rowsOf[T any](ctx context.Context, body []byte, list string, others map[string]any) ([]T, error) {
	return httptry.Rows(ctx, body, list, others, isComplete[T])
}

func isComplete[T any](row *T) error { return completeness(row) }
