package jsonb

// Array is Valid for a value that must be an array. It calls visit for each element in order, also
// for the elements before a fault. The raw element is valid only during the call.
func Array(raw []byte, visit func(element []byte)) error {
	s := scanner{data: raw}
	i := s.space(0)
	if i >= len(raw) || raw[i] != '[' {
		return &Error{Kind: KindSyntax, Offset: i}
	}
	i, more := s.open(i, ']')
	for more {
		end, kind := s.value(i, 1)
		if kind != 0 {
			return faultIn(raw, end, kind)
		}
		visit(raw[i:end])
		if i, more, kind = s.next(end, ']'); kind != 0 {
			return faultIn(raw, i, kind)
		}
	}
	if i, kind := s.end(i); kind != 0 {
		return faultIn(raw, i, kind)
	}
	return nil
}
