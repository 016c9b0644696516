package planes

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// Log collects the log output of agents, so that tests can wait for a message.
type Log struct {
	// To, unless nil, also receives the log output.
	To io.Writer

	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if l.To == nil {
		return len(p), nil
	}
	return l.To.Write(p)
}

// Expect waits until the log contains all these words.
func (l *Log) Expect(t *testing.T, words ...string) {
	t.Helper()
	for _, w := range words {
		Eventually(t, "the agent says "+w, func() error {
			l.mu.Lock()
			defer l.mu.Unlock()
			if !strings.Contains(l.text.String(), w) {
				return fmt.Errorf("the log is\n%s", l.text.String())
			}
			return nil
		})
	}
}
