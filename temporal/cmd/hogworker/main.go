// Command hogworker is a stub.
package main

import (
	_ "github.com/hogapi/hogapi/temporal"
	_ "github.com/spf13/cobra"
)

func main() {}
