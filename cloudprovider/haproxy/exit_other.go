//go:build !linux

package haproxy

import (
	"context"
	"errors"
)

// awaitExit returns nil when the process has ended. HAProxy runs on Linux; elsewhere this package is a part of the command line program alone,
// which renders what goes with it.
func awaitExit(context.Context, int) error { return errors.ErrUnsupported }
