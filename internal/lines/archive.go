package lines

import (
	"archive/zip"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/internal/mask"
)

// readMembers reads the records of a zip file's members after a position, in the order of their names.
func (f *File) readMembers(ctx context.Context, after position, w Walk, begins map[string]string) (more bool, err error) {
	members := membersOf(f.archive)
	for i := range members[:max(0, len(members)-1)] {
		if members[i].Name == members[i+1].Name {
			return false, fmt.Errorf("the zip file has two members %q, which positions cannot tell apart: unpack it", members[i].Name)
		}
	}
	first := 0
	if after.member != "" || after.offset > 0 {
		if first = slices.IndexFunc(members, func(m *zip.File) bool { return m.Name == after.member }); first < 0 {
			return false, ErrNoPosition
		}
	}
	for _, member := range members[first:] {
		more, err := f.readMember(ctx, member, after.offset, w, begins)
		if err != nil {
			err = fmt.Errorf("%s: %w", mask.Shown(member.Name), err)
		}
		if err != nil || !more {
			return false, err
		}
		after.offset = 0
	}
	return true, nil
}

func (f *File) readMember(ctx context.Context, member *zip.File, offset int64, w Walk, begins map[string]string) (more bool, err error) {
	m, err := f.openMember(member)
	if err != nil {
		return false, err
	}
	defer m.closeText()
	return m.read(ctx, offset, w, begins)
}

// membersOf returns the files of an archive in the order of their names, without the files that macOS adds.
func membersOf(z *zip.Reader) (members []*zip.File) {
	for _, m := range z.File {
		base := path.Base(m.Name)
		if m.Mode().IsDir() || strings.HasPrefix(m.Name, "__MACOSX/") || strings.HasPrefix(base, "._") || base == ".DS_Store" {
			continue
		}
		members = append(members, m)
	}
	slices.SortStableFunc(members, func(a, b *zip.File) int { return ByNumber(a.Name, b.Name) })
	return members
}

// ByNumber compares names, with runs of digits as numbers: "9.json" comes before "10.json".
func ByNumber(a, b string) int {
	for x, y := a, b; x != "" && y != ""; {
		if isDigit(x[0]) && isDigit(y[0]) {
			n, restX := leadingNumber(x)
			m, restY := leadingNumber(y)
			if order := cmp.Or(cmp.Compare(len(n), len(m)), cmp.Compare(n, m)); order != 0 {
				return order
			}
			x, y = restX, restY
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// leadingNumber splits the number at the start of a text, without leading zeros, from the rest.
func leadingNumber(text string) (digits, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	return strings.TrimLeft(text[:len(text)-len(rest)], "0"), rest
}
