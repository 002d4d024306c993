package parquet

import (
	"errors"
	"slices"

	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// node is a column, or a group of columns, and how it is written as JSON.
type node struct {
	key        []byte // its quoted name and a colon
	isOptional bool
	isRepeated bool
	isList     bool // a group that stands for an array
	definition int  // the level at which it is there
	repetition int  // the level at which it is repeated

	children []*node
	first    *leaf // of its leaves, or itself
	value    appender
}

var errLevels = errors.New("the levels of its values contradict each other")

// newTree makes the node of a file, and the leaves of the columns that are read.
func newTree(root *parquetgo.Column, o Options) (tree *node, leaves []*leaf) {
	tree = &node{}
	for _, column := range root.Columns() {
		if name := column.Name(); (len(o.Columns) == 0 || slices.Contains(o.Columns, name)) && !slices.Contains(o.Without, name) {
			child := newNode(column, 0, 0, &leaves)
			if child.value != nil && slices.Contains(o.JSON, name) {
				child.value = valuesOr(child.value)
			}
			tree.children = append(tree.children, child)
		}
	}
	return tree, leaves
}

func newNode(column *parquetgo.Column, definition, repetition int, leaves *[]*leaf) *node {
	name, err := jsonb.AppendString(nil, column.Name())
	if err != nil {
		name, _ = jsonb.AppendString(nil, "?")
	}
	n := &node{key: append(name, ':'), isOptional: column.Optional(), isRepeated: column.Repeated()}
	if n.isOptional || n.isRepeated {
		definition++
	}
	if n.isRepeated {
		repetition++
	}
	n.definition, n.repetition = definition, repetition
	if column.Leaf() {
		n.first = &leaf{name: column.Name(), column: column.Index(), isRepeated: repetition > 0}
		n.value = appenderOf(column.Type())
		*leaves = append(*leaves, n.first)
		return n
	}
	for _, child := range column.Columns() {
		n.children = append(n.children, newNode(child, definition, repetition, leaves))
	}
	if len(n.children) > 0 {
		n.first = n.children[0].first
	}
	if logical := column.Type().LogicalType(); logical != nil {
		_, isList := logical.Value.(*format.ListType)
		n.isList = isList && len(n.children) == 1 && n.children[0].isRepeated
	}
	return n
}

// object appends the values at hand as an object.
func (n *node) object(dst []byte) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, child := range n.children {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = child.append(append(dst, child.key...)); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func (n *node) append(dst []byte) ([]byte, error) {
	v, ok := n.peek()
	switch {
	case !ok:
		return dst, errLevels
	case n.isRepeated:
		return n.array(dst, v, false)
	case v.DefinitionLevel() < n.definition:
		n.pass()
		return append(dst, "null"...), nil
	}
	return n.one(dst)
}

func (n *node) peek() (v parquetgo.Value, ok bool) {
	if n.first == nil {
		return v, false
	}
	return n.first.peek()
}

// pass passes over one value of each leaf.
func (n *node) pass() {
	if n.children == nil {
		n.first.written++
	}
	for _, child := range n.children {
		child.pass()
	}
}

// array appends the values of a repeated node. The values of a list are not wrapped in objects of
// one member.
func (n *node) array(dst []byte, v parquetgo.Value, inList bool) (_ []byte, err error) {
	dst = append(dst, '[')
	if v.DefinitionLevel() < n.definition {
		n.pass()
		return append(dst, ']'), nil
	}
	for i := 0; ; i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		if inList && len(n.children) == 1 {
			dst, err = n.children[0].append(dst)
		} else {
			dst, err = n.one(dst)
		}
		if err != nil {
			return dst, err
		}
		if v, ok := n.peek(); !ok || v.RepetitionLevel() != n.repetition {
			return append(dst, ']'), nil
		}
	}
}

func (n *node) one(dst []byte) ([]byte, error) {
	switch {
	case n.isList:
		list := n.children[0]
		v, ok := list.peek()
		if !ok {
			return dst, errLevels
		}
		return list.array(dst, v, true)
	case n.children != nil:
		return n.object(dst)
	}
	v, ok := n.first.peek()
	if !ok {
		return dst, errLevels
	}
	n.first.written++
	return n.value(dst, v)
}
