package podrunner

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStreams executes commands by both protocols that kubectl speaks.
func TestStreams(t *testing.T) {
	c := needCluster(t)
	ns := c.apply(t, `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: any, command: ["sleep", "inf"]}]
`)
	c.waitReady(t, ns, 1)
	for protocol, setting := range map[string]string{"SPDY": "false", "websocket": "true"} {
		for name, tc := range map[string]struct {
			flag, script, stdin string
			stdout, stderr      string
			code                int
		}{
			"separate outputs": {script: "echo out; echo err >&2; exit 3", stdout: "out\n", stderr: "err\n", code: 3},
			"input":            {flag: "-i", script: "cat", stdin: "some\ntext", stdout: "some\ntext"},
			"much output":      {script: "head -c 3000000 /dev/zero | tr '\\0' x", stdout: strings.Repeat("x", 3000000)},
			"much input":       {flag: "-i", script: "wc -c", stdin: strings.Repeat("x", 3000000), stdout: "3000000\n"},
			"input that nobody reads": {flag: "-i", script: "exec <&-; echo done",
				stdin: strings.Repeat("x", 3000000), stdout: "done\n"},
		} {
			t.Run(protocol+"/"+name, func(t *testing.T) {
				if protocol == "SPDY" && strings.HasSuffix(name, "nobody reads") {
					t.Skip("an API server that ends a connection with input under way may take the output with it, as with any kubelet")
				}
				args := []string{"--kubeconfig", c.path("kubeconfig"), "exec", "-n", ns, "p"}
				if tc.flag != "" {
					args = append(args, tc.flag)
				}
				cmd := exec.Command(filepath.Join(c.bin, "kubectl"), append(args, "--", "sh", "-c", tc.script)...)
				cmd.Env = append(os.Environ(), "KUBECTL_REMOTE_COMMAND_WEBSOCKETS="+setting)
				var stdout, stderr bytes.Buffer
				cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(tc.stdin), &stdout, &stderr
				err := c.ns.Do(cmd.Run)
				var exit *exec.ExitError
				if err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				said, _, _ := strings.Cut(stderr.String(), "command terminated with")
				if _, own, ok := strings.Cut(said, "Copying stdin failed"); ok { // kubectl's own word
					_, said, _ = strings.Cut(own, "\n")
				}
				if stdout.String() != tc.stdout || said != tc.stderr || cmd.ProcessState.ExitCode() != tc.code {
					t.Errorf("got %.100q, %.100q, code %d", stdout.String(), stderr.String(), cmd.ProcessState.ExitCode())
				}
			})
		}
	}
}
