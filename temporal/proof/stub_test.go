package proof

import (
	_ "github.com/hogapi/hogapi/hogapitest"
	_ "github.com/hogapi/hogapi/temporal"
	_ "github.com/stretchr/testify/require"
	_ "go.temporal.io/sdk/client"
)
