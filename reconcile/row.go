package reconcile

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/google/uuid"
)

// row is a row of an answer: texts, or nil. A database may show a number as a text, and the other way round.
type row []any

func (r row) check(columns int) error {
	if len(r) != columns {
		return errors.New("another number of columns")
	}
	for _, v := range r {
		if v == nil {
			return errors.New("a column is null")
		}
	}
	return nil
}

// text returns a column, unless an earlier one was wrong.
func (r row) text(failed *error, i int) string {
	switch v := r[i].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case nil:
		setError(failed, errors.New("a column is null"))
		return ""
	default:
		return fmt.Sprint(v)
	}
}

func setError(failed *error, err error) {
	if *failed == nil {
		*failed = err
	}
}

// int returns a count.
func (r row) int(failed *error, i int) int64 {
	n, ok := new(big.Int).SetString(r.text(failed, i), 10)
	if !ok || !n.IsInt64() || n.Sign() < 0 {
		setError(failed, errors.New("a column is not a count"))
		return 0
	}
	return n.Int64()
}

// uint returns a sum, which wraps at 64 bits. Some engines do not wrap.
func (r row) uint(failed *error, i int) uint64 {
	n, ok := new(big.Int).SetString(r.text(failed, i), 10)
	if !ok || n.Sign() < 0 {
		setError(failed, errors.New("a column is not a sum of whole numbers"))
		return 0
	}
	const bits = 64
	return n.And(n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(1))).Uint64()
}

// uuid returns a uuid, in any of its forms as a text.
func (r row) uuid(failed *error, i int) uuid.UUID {
	text := r.text(failed, i)
	id, err := uuid.Parse(text)
	const withHyphens, without = 36, 32
	if err != nil || len(text) != withHyphens && len(text) != without {
		setError(failed, errors.New("a column is not a uuid"))
	}
	return id
}

// unit returns the beginning of a day or an hour in UTC, such as 2026-11-26 or 2026-11-26 13.
func (r row) unit(failed *error, i int) time.Time { return parseUnit(failed, r.text(failed, i)) }

func parseUnit(failed *error, text string) time.Time {
	for _, layout := range []string{time.DateOnly, "2006-01-02 15", "2006-01-02T15"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	setError(failed, errors.New("a column is not a day or an hour"))
	return time.Time{}
}

// time returns a time in UTC, as ClickHouse shows it.
func (r row) time(failed *error, i int) time.Time {
	text := strings.TrimSuffix(strings.Replace(r.text(failed, i), "T", " ", 1), "Z")
	at, err := time.Parse("2006-01-02 15:04:05.999999", text)
	if err != nil {
		setError(failed, errors.New("a column is not a time"))
	}
	return at
}
