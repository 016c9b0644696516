package lifecycle

import (
	"log/slog"
	"os"
)

// Log returns a program's logger: JSON on standard error, with debug logs if verbose.
func Log(verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}
