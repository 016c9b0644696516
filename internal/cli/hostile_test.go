package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// An error that quotes somebody else's text does not control the terminal.
func TestHostileError(t *testing.T) {
	var stdout, stderr bytes.Buffer
	file := filepath.Join(t.TempDir(), "eu\x1b[2J\u009b\u202e")
	status := Main([]string{"atoll", "get", "imports", "--kubeconfig", file}, nil, &stdout, &stderr)
	if status == 0 || !strings.Contains(stderr.String(), `eu\u001b[2J\u009b\u202e`) || strings.ContainsAny(stderr.String(), "\x1b\u009b\u202e") {
		t.Errorf("status %d, %q", status, stderr.String())
	}
}
