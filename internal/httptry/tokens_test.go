package httptry

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A call pays for each retry. Success returns the cost of the last retry, or adds one token if it came at the first
// try.
func TestAccount(t *testing.T) {
	b := NewTokens()
	failing := Account{Tokens: b}
	for range 3 {
		require.True(t, failing.Pay(Verdict{Retry: true}))
	}
	require.True(t, failing.Pay(Verdict{Retry: true, Silent: true}))
	require.Equal(t, MostTokens-3*CostOfRetry-costSilent, b.tokens)
	failing.Succeed()
	require.Equal(t, MostTokens-3*CostOfRetry, b.tokens)

	require.True(t, failing.Pay(Verdict{Retry: true}))
	failing.Refund()
	require.Equal(t, MostTokens-3*CostOfRetry, b.tokens)

	for range MostTokens {
		(&Account{Tokens: b}).Succeed()
	}
	require.Equal(t, MostTokens, b.tokens, "no more than at the beginning")
}
