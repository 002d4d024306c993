//go:build !windows

package clitest

import (
	"os"
	"os/exec"
)

// alone needs nothing here: a signal is sent to one process.
func alone(*exec.Cmd) {}

// Signal sends a signal to a command.
func Signal(cmd *exec.Cmd, signal os.Signal) error { return cmd.Process.Signal(signal) }
