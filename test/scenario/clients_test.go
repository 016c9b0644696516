package scenario

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/atoll-mcs/atoll/lab/echo"
	"github.com/atoll-mcs/atoll/test/planes"
)

// TestClients runs the clients of scenarios against servers on the loopback interface. A
// timeout or a refused connection is not an answer.
func TestClients(t *testing.T) {
	if testing.Short() {
		t.Skip("needs curl and socat")
	}
	web, other, nobody := free(t), free(t), free(t)
	server, err := echo.Listen(t.Context(), echo.Options{HTTP: web, TCP: other, UDP: other}, echo.Identity{Pod: "web-0", Cluster: "c1", Node: "c1-n1"})
	planes.NoError(t, err)
	go server.Serve(t.Context())
	sources := sets.New[string]()
	unready := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sources.Insert(r.RemoteAddr)
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, "pod=web-0 cluster=c1 node=c1-n1\n")
	}))
	defer unready.Close()
	for name, test := range map[string]struct {
		client, target string
		answers        int
	}{
		"http":         {httpClient, "http://" + web, 3},
		"tcp":          {tcpClient, other, 3},
		"udp":          {udpClient, other, 3},
		"http refused": {httpClient, "http://" + nobody, 0},
		"http 503":     {httpClient, unready.URL, 0},
		"tcp refused":  {tcpClient, nobody, 0},
		"udp refused":  {udpClient, nobody, 0},
	} {
		t.Run(name, func(t *testing.T) {
			output, err := exec.Command("sh", "-c", test.client, "sh", test.target, "3", strconv.Itoa(firstPort)).Output()
			planes.NoError(t, err)
			answers := parseAnswers(string(output))
			if len(answers) != test.answers || (firstFailure(string(output)) == "no output") != (test.answers > 0) {
				t.Errorf("%q", output)
			}
			if test.answers > 0 && answers[0] != "c1/web-0" {
				t.Errorf("%q has answered", answers)
			}
		})
	}
	for source := range sources {
		if port := netip.MustParseAddrPort(source).Port(); port < firstPort || port >= 32000 {
			t.Errorf("a request came from port %d", port)
		}
	}
	if len(sources) != 3 {
		t.Errorf("requests came from %v, instead of from three ports", sources)
	}
}

// free returns an unused port of the loopback interface.
func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	planes.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

func TestOnTerminal(t *testing.T) {
	result := onTerminal(exec.Command("sh", "-c", "test -t 0 && test -t 1 && echo one && echo two; exit 3"))
	if result.Stdout != "one\ntwo\n" {
		t.Errorf("output %q", result.Stdout)
	}
	var exit *exec.ExitError
	if !errors.As(result.Err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("ended with %v", result.Err)
	}
}
