package mask

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHoldsURL(t *testing.T) {
	for text, want := range map[string]bool{
		`{"detail":"This file download has expired"}`: false,
		`{"to":"https://storage.example/f"}`:          true,
		`{"to":"https:\/\/storage.example/f"}`:        true,
		`{"to":"/f\u003fX-Amz-Signature\u003d01"}`:    true,
		`{"a\u003db":1}`: true,
		`moved`:          true,
		``:               true,
	} {
		assert.Equal(t, want, HoldsURL([]byte(text)), text)
	}
}
