package lifecycle

import (
	"log/slog"
	"os"
)

// Log returns the log of a program: JSON on standard error, with what is for developers if verbose.
func Log(verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}
