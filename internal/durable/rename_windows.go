package durable

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// rename renames a file. While another program, such as a virus scanner, holds one of the two files open, Windows refuses;
// rename then tries again for two seconds.
func rename(from, to string) error {
	const patience = 2 * time.Second
	begin := time.Now()
	for wait := time.Millisecond; ; wait *= 2 {
		err := os.Rename(from, to)
		if !isHeld(err) || time.Since(begin)+wait > patience {
			return err
		}
		time.Sleep(wait)
	}
}

func isHeld(err error) bool {
	return errors.Is(err, syscall.ERROR_ACCESS_DENIED) || errors.Is(err, sharingViolation)
}
