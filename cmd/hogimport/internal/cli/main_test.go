package cli_test

import (
	"os"
	"testing"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
)

func TestMain(m *testing.M) { os.Exit(clitest.Main(m)) }
