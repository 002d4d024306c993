//go:build linux && (amd64 || arm64)

// Package diskcalls decides for each system call of a program on files of a folder: the call takes place, it fails, or the program dies
// at it. The calls of all threads form one sequence. strace cannot do that: it counts the calls of each thread separately, and a Go
// program moves between threads at any time.
//
// The program passes its calls to its parent by a seccomp filter with a listener. That needs no privileges.
package diskcalls

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Kill is the verdict that ends the program before the call takes place.
const Kill syscall.Errno = 1 << 16

// Call is a system call on a file.
type Call struct{ Name, Path string }

// operand tells which argument names the file.
type operand struct {
	call   string
	at     int
	isPath bool // otherwise it is a descriptor
}

// watched are the system calls by which Go reads and changes files.
var watched = map[uint32]operand{
	unix.SYS_OPENAT:    {"openat", 1, true},
	unix.SYS_MKDIRAT:   {"mkdirat", 1, true},
	unix.SYS_UNLINKAT:  {"unlinkat", 1, true},
	unix.SYS_RENAMEAT:  {"renameat", 1, true},
	unix.SYS_RENAMEAT2: {"renameat2", 1, true},
	statCall:           {"stat", 1, true},
	unix.SYS_READ:      {"read", 0, false},
	unix.SYS_PREAD64:   {"pread64", 0, false},
	unix.SYS_WRITE:     {"write", 0, false},
	unix.SYS_PWRITE64:  {"pwrite64", 0, false},
	unix.SYS_LSEEK:     {"lseek", 0, false},
	unix.SYS_FTRUNCATE: {"ftruncate", 0, false},
	unix.SYS_FSYNC:     {"fsync", 0, false},
	unix.SYS_FDATASYNC: {"fdatasync", 0, false},
	unix.SYS_FLOCK:     {"flock", 0, false},
	unix.SYS_FCHMOD:    {"fchmod", 0, false},
	unix.SYS_CLOSE:     {"close", 0, false},
}

// Watched returns the names of the system calls that a judge gets.
func Watched() (names []string) {
	for _, what := range watched {
		names = append(names, what.call)
	}
	return names
}

// socketFD is the descriptor of the program's socket to its parent.
const socketFD = 3

// notification and response are struct seccomp_notif and seccomp_notif_resp of linux/seccomp.h.
type notification struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type response struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// Submit passes the calls of this process to the parent that has started it with [Run].
func Submit() error {
	n := len(watched)
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number of the call
	for nr := range watched {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(n - len(filter) + 1), K: nr})
	}
	filter = append(filter,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	const everyThread = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		everyThread|unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("filter: %w", errno)
	}
	return unix.Sendmsg(socketFD, []byte{0}, unix.UnixRights(int(listener)), nil, 0)
}

// Run starts a program that calls [Submit], waits for its end and returns its error. Run passes each call on the folder or on a file
// below it to judge, one at a time. If judge returns 0, the call takes place; if it returns Kill, the program ends; any other value is
// the error number of the call.
func Run(cmd *exec.Cmd, folder string, judge func(Call) syscall.Errno) error {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ours, theirs := os.NewFile(uintptr(ends[0]), "socket"), os.NewFile(uintptr(ends[1]), "socket")
	defer ours.Close()
	defer theirs.Close()
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Env = append(cmd.Environ(), "GODEBUG=asyncpreemptoff=1") // a signal would interrupt a call that waits for its verdict
	if err := cmd.Start(); err != nil {
		return err
	}
	theirs.Close()
	err = serve(int(ours.Fd()), cmd.Process, folder, judge)
	if err != nil {
		_ = cmd.Process.Kill()
	}
	return errors.Join(err, cmd.Wait())
}

func serve(socket int, process *os.Process, folder string, judge func(Call) syscall.Errno) error {
	listener, err := receive(socket)
	if err != nil {
		return fmt.Errorf("the program has not submitted itself: %w", err)
	}
	defer os.NewFile(uintptr(listener), "listener").Close()
	for {
		ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			return err
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			return nil // it has ended
		}
		var call notification
		if errno := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&call)); errno == unix.ENOENT || errno == unix.EINTR {
			continue // the thread did not wait for the verdict: it is dying
		} else if errno != 0 {
			return errno
		}
		verdict := syscall.Errno(0)
		if what := describe(&call); what.Path == folder || strings.HasPrefix(what.Path, folder+string(filepath.Separator)) {
			verdict = judge(what)
		}
		if verdict == Kill {
			if err := process.Kill(); err != nil {
				return err
			}
			continue // without a verdict the call cannot take place
		}
		answer := response{id: call.id, errno: -int32(verdict)}
		if verdict == 0 {
			answer.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
		}
		if errno := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer)); errno != 0 && errno != unix.ENOENT {
			return errno
		}
	}
}

func ioctl(fd int, request uint, arg unsafe.Pointer) syscall.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(arg))
	return errno
}

func receive(socket int) (listener int, err error) {
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil {
		return 0, err
	}
	if len(messages) == 0 {
		return 0, errors.New("it has ended")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

// describe finds the file of a call. The calling thread waits meanwhile.
func describe(call *notification) Call {
	what := watched[uint32(call.nr)]
	argument := call.args[what.at]
	if !what.isPath {
		path, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", call.pid, int32(argument)))
		return Call{what.call, strings.TrimSuffix(path, " (deleted)")}
	}
	text := make([]byte, unix.PathMax)
	to := []unix.Iovec{{Base: &text[0]}}
	to[0].SetLen(len(text))
	// The text may lie near the end of the mapped memory, so it is read in two parts, each within its page.
	page := uint64(os.Getpagesize())
	first := int(page - argument%page)
	from := []unix.RemoteIovec{{Base: uintptr(argument), Len: first}, {Base: uintptr(argument) + uintptr(first), Len: max(len(text)-first, 0)}}
	n, _ := unix.ProcessVMReadv(int(call.pid), to, from, 0)
	path, _, _ := bytes.Cut(text[:max(n, 0)], []byte{0})
	return Call{what.call, string(path)}
}
