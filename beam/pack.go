package hogbeam

import "encoding/binary"

// A pack is encoded events, each behind its length.

// appendPacked adds an event to a pack.
func appendPacked(pack []byte, ev *Event) []byte {
	event := appendEvent(nil, ev)
	pack = binary.AppendUvarint(pack, uint64(len(event)))
	return append(pack, event...)
}

// eachPacked gives the encoded events of a pack.
func eachPacked(pack []byte, f func(event []byte) error) error {
	for len(pack) > 0 {
		n, used := binary.Uvarint(pack)
		if used <= 0 || n > uint64(len(pack)-used) {
			return errDamaged
		}
		if err := f(pack[used:][:n]); err != nil {
			return err
		}
		pack = pack[used+int(n):]
	}
	return nil
}
