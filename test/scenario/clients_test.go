package scenario

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"
)

const answerLine = "pod=web-0 cluster=c1 node=c1-n1 remote=127.0.0.1:1 proto=x\n"

// TestClients runs the programs that scenarios run in pods against servers on
// the loopback interface. Silence and refusal are no answers.
func TestClients(t *testing.T) {
	if testing.Short() {
		t.Skip("needs curl and socat")
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	closed.Close()
	for name, test := range map[string]struct {
		client, target string
		answers        int
	}{
		"http":         {httpClient, serveHTTP(t, http.StatusOK), 3},
		"tcp":          {tcpClient, serveTCP(t), 3},
		"udp":          {udpClient, serveUDP(t), 3},
		"http refused": {httpClient, "http://" + nobody, 0},
		"http 503":     {httpClient, serveHTTP(t, http.StatusServiceUnavailable), 0},
		"tcp refused":  {tcpClient, nobody, 0},
		"udp refused":  {udpClient, nobody, 0},
	} {
		t.Run(name, func(t *testing.T) {
			output, err := exec.Command("sh", "-c", test.client, "sh", test.target, "3").Output()
			if err != nil {
				t.Fatal(err)
			}
			answers := parseAnswers(string(output))
			if len(answers) != test.answers || (firstFailure(string(output)) == "no output") != (test.answers > 0) {
				t.Errorf("%q", output)
			}
			want := Answer{Pod: "web-0", Cluster: "c1", Node: "c1-n1", Remote: "127.0.0.1:1", Proto: "x"}
			if test.answers > 0 && answers[0] != want {
				t.Errorf("%+v", answers[0])
			}
		})
	}
}

func serveHTTP(t *testing.T, status int) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, answerLine)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func serveTCP(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				if _, err := bufio.NewReader(connection).ReadString('\n'); err == nil {
					fmt.Fprint(connection, answerLine)
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func serveUDP(t *testing.T) string {
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	go func() {
		buffer := make([]byte, 100)
		for {
			_, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = socket.WriteTo([]byte(answerLine), from)
		}
	}()
	return socket.LocalAddr().String()
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
