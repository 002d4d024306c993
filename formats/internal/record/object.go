// Package record reads the members of vendors' records. All of it is the same for every vendor.
package record

import "github.com/hogapi/hogapi/formats/internal/props"

// Keep adds a member under its name or, where that is taken, under the name with as many "_" after it as
// it takes.
func Keep(o *props.Object, name string, value []byte) {
	for !o.Add(name, value) {
		name += "_"
	}
}

// AppendMember appends an object as the last member of another one, unless it is empty.
func AppendMember(dst []byte, name string, o *props.Object) []byte {
	if o.IsEmpty() {
		return dst
	}
	dst = dst[:len(dst)-1]
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(append(append(dst, '"'), name...), '"', ':')
	return append(o.Append(dst), '}')
}
