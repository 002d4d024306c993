package clitest

import (
	"os"
	"os/exec"
	"syscall"
)

// alone makes a command the only one of its group, which gets its Ctrl-Break.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

var ctrlEvent = syscall.NewLazyDLL("kernel32.dll").NewProc("GenerateConsoleCtrlEvent")

// Signal sends a signal to a command. An interrupt is a Ctrl-Break, since a Ctrl-C goes to every group of the console.
// For Go, both are os.Interrupt.
func Signal(cmd *exec.Cmd, signal os.Signal) error {
	if signal != os.Interrupt {
		return cmd.Process.Signal(signal)
	}
	if ok, _, err := ctrlEvent.Call(syscall.CTRL_BREAK_EVENT, uintptr(cmd.Process.Pid)); ok == 0 {
		return err
	}
	return nil
}
