package integration_test

import (
	"fmt"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/integration"
)

// A request can be logged: its credentials do not print.
func ExampleSnowflake() {
	fmt.Printf("%+v\n", integration.Snowflake{Name: "lake", Account: "a", User: "u", Password: hogapi.NewSecret("very secret")})
	// Output: {Name:lake Account:a User:u Password:[redacted] PrivateKey:[redacted] PrivateKeyPassphrase:[redacted]}
}
