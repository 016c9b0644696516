package clusterset

import (
	"fmt"
	"strings"

	clog "github.com/coredns/coredns/plugin/pkg/log"
	"github.com/go-logr/logr"
)

// logger returns a logger for client-go that writes as CoreDNS's plugins do.
func logger() logr.Logger { return logr.New(sink{clog.NewWithPlugin(pluginName)}) }

// sink writes only errors. It drops the reflectors' failures, which reporting logs once each.
type sink struct{ log clog.P }

// Init implements logr.LogSink.
func (sink) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (sink) Enabled(int) bool { return false }

// Info implements logr.LogSink.
func (sink) Info(int, string, ...any) {}

// Error implements logr.LogSink.
func (s sink) Error(err error, msg string, kv ...any) {
	if msg == "Failed to watch" {
		return
	}
	s.log.Error(line(msg, append([]any{"err", err}, kv...)))
}

// WithValues implements logr.LogSink.
func (s sink) WithValues(...any) logr.LogSink { return s }

// WithName implements logr.LogSink.
func (s sink) WithName(string) logr.LogSink { return s }

// line formats a message with its keys and values.
func line(msg string, kv []any) string {
	var b strings.Builder
	b.WriteString(msg)
	for i := 0; i+1 < len(kv); i += 2 {
		fmt.Fprintf(&b, " %v=%v", kv[i], kv[i+1])
	}
	return b.String()
}
