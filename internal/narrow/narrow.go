// Package narrow finds the differences between two sets that are too large to list. It compares digests of parts, lists
// only the parts that differ, and splits a part that is too large for one query.
package narrow

import "time"

// Ask asks a question, and smaller ones instead where it is too much. smaller returns nil for a question that has no parts.
func Ask[Q, A any](q Q, ask func(Q) ([]A, error), isTooMuch func(error) bool, smaller func(Q) []Q) ([]A, error) {
	answer, err := ask(q)
	if err == nil || !isTooMuch(err) {
		return answer, err
	}
	parts := smaller(q)
	if parts == nil {
		return nil, err
	}
	return Each(parts, func(part Q) ([]A, error) { return Ask(part, ask, isTooMuch, smaller) })
}

// Each asks one question after the other, and joins the answers.
func Each[Q, A any](questions []Q, ask func(Q) ([]A, error)) (all []A, err error) {
	for _, q := range questions {
		some, err := ask(q)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// Groups joins parts for one list of at most so many rows and so many parts. A larger part is a group of its own.
func Groups[T any](all []T, maxRows int64, maxParts int, rowsOf func(T) int64) (groups [][]T) {
	var size int64
	for _, x := range all {
		last := len(groups) - 1
		if last >= 0 && size+rowsOf(x) <= maxRows && len(groups[last]) < maxParts {
			groups[last] = append(groups[last], x)
			size += rowsOf(x)
			continue
		}
		groups, size = append(groups, []T{x}), rowsOf(x)
	}
	return groups
}

// Middle divides a time between two units of it, unless it has only one.
func Middle(from, to time.Time, unit time.Duration) (middle time.Time, ok bool) {
	first := from.Truncate(unit)
	units := int64((to.Sub(first)-1)/unit) + 1 // Sub ends at 292 years
	return first.Add(time.Duration(units/2) * unit), units > 1
}

// Earlier returns the earlier of two times.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Digits returns how many hexadecimal digits divide so many rows into slices of some thousand.
func Digits(rows int64) (digits int) {
	const base, slice, maxDigits = 16, 2_000, 3 // 4,096 slices
	for ; rows > slice && digits < maxDigits; digits++ {
		rows /= base
	}
	return digits
}

// Hex are the digits by which a slice is divided further.
const Hex = "0123456789abcdef"
