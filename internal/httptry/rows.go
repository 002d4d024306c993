package httptry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// MaxRows is the most rows of one page. The service returns at most 500, unless it is asked for more.
const MaxRows = 10_000

// Rows reads an answer that is an object: the rows of its list, each of which must pass check, and the
// requested other members. An answer without the list is an error, because as an empty list it would end a
// walk early.
func Rows[T any](
	ctx context.Context, body []byte, list string, others map[string]any, check func(*T) error,
) (rows []T, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if err := expect(d, '{', "it is not a JSON object"); err != nil {
		return nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch place := others[key.(string)]; {
		case key != list && place != nil:
			err = shortened(d.Decode(place))
		case key != list:
			err = d.Decode(new(json.RawMessage))
		case rows != nil:
			err = fmt.Errorf("it has %s twice", list)
		default:
			rows, err = listOf(ctx, d, check)
		}
		if err != nil {
			return nil, err
		}
	}
	if rows == nil {
		return nil, fmt.Errorf("it has no %s", list)
	}
	if err := expect(d, '}', "it has no end"); err != nil {
		return nil, err
	}
	return rows, atEnd(d)
}

// List reads an answer that is a list, row by row. Each row must pass check.
func List[T any](ctx context.Context, body []byte, check func(*T) error) ([]T, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	rows, err := listOf(ctx, d, check)
	if err == nil {
		err = atEnd(d)
	}
	return rows, err
}

func listOf[T any](ctx context.Context, d *json.Decoder, check func(*T) error) ([]T, error) {
	if err := expect(d, '[', "it has no list of rows where one belongs"); err != nil {
		return nil, err
	}
	rows := []T{}
	for d.More() {
		if ctx.Err() != nil {
			return nil, ContextError(ctx)
		}
		if len(rows) == MaxRows {
			return nil, fmt.Errorf("%w: over %d rows on one page", ErrTooBig, MaxRows)
		}
		var row T
		err := shortened(d.Decode(&row))
		if err == nil {
			err = check(&row)
		}
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", len(rows), err)
		}
		rows = append(rows, row)
	}
	return rows, expect(d, ']', "its list has no end")
}

func expect(d *json.Decoder, want json.Delim, otherwise string) error {
	token, err := d.Token()
	if err == nil && token != want {
		err = errors.New(otherwise)
	}
	return err
}

func atEnd(d *json.Decoder) error {
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after its end")
	}
	return nil
}

// Unmarshal is json.Unmarshal with an error that is cheap to print.
func Unmarshal(body []byte, out any) error { return shortened(json.Unmarshal(body, out)) }

// shortened shortens the value that a decoding error quotes: a long value costs gigabytes to print.
func shortened(err error) error {
	if _, ok := errors.AsType[*time.ParseError](err); ok {
		return errors.New("it has a time that cannot be read")
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		wrong.Value = wrong.Value[:min(len(wrong.Value), 40)]
	}
	return err
}
