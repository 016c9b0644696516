package haproxy

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/cloudprovider/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder is for a HAProxy, which ends with the test.
func folder(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs HAProxy")
	}
	if _, err := exec.LookPath("haproxy"); err != nil {
		if _, err := os.Stat("/usr/sbin/haproxy"); err != nil {
			t.Skip("there is no haproxy: make host-programs installs it")
		}
	}
	dir, err := os.MkdirTemp("", "hap") // a test's own folders have names that are too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range processesOf(dir) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

func TestConformance(t *testing.T) {
	conform(t, func(dir string) map[string]string { return map[string]string{"dir": dir} }, func(*testing.T, string) {})
}

// conform runs the published cases with a folder for each, which is prepared once, and providers with the options for it.
func conform(t *testing.T, options func(dir string) map[string]string, prepare func(t *testing.T, dir string)) {
	dirs := map[*testing.T]string{}
	conformance.Run(t, conformance.Harness{
		New: func(t *testing.T, c cloudprovider.Config) cloudprovider.MCSLoadBalancer {
			if dirs[t] == "" {
				dirs[t] = folder(t)
				prepare(t, dirs[t])
			}
			c.Options = options(dirs[t])
			p, err := cloudprovider.New(Name, c)
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		Addresses: []string{conformance.Loopback(t)},
		Protocols: []corev1.Protocol{corev1.ProtocolTCP},
		Options:   true,
	})
}
