package scenario

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"
)

const answerLine = "pod=web-0 cluster=c1 node=c1-n1 remote=127.0.0.1:1 proto=x\n"

// TestClients runs the programs that scenarios run in pods against servers on
// the loopback interface.
func TestClients(t *testing.T) {
	if testing.Short() {
		t.Skip("needs curl and socat")
	}
	for name, test := range map[string]struct {
		client, target string
	}{
		"http": {httpClient, serveHTTP(t)},
		"tcp":  {tcpClient, serveTCP(t)},
		"udp":  {udpClient, serveUDP(t)},
	} {
		t.Run(name, func(t *testing.T) {
			output, err := exec.Command("sh", "-c", test.client, "sh", test.target, "5").Output()
			if err != nil {
				t.Fatal(err)
			}
			answers := parseAnswers(string(output))
			want := Answer{Pod: "web-0", Cluster: "c1", Node: "c1-n1", Remote: "127.0.0.1:1", Proto: "x"}
			if len(answers) != 5 || answers[0] != want {
				t.Errorf("%q", output)
			}
		})
	}
}

// TestClientsSayWhatFailed makes sure that silence and refusal are no answers.
func TestClientsSayWhatFailed(t *testing.T) {
	if testing.Short() {
		t.Skip("needs curl and socat")
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	closed.Close()
	unready := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, answerLine)
	}))
	defer unready.Close()
	for name, test := range map[string]struct {
		client, target string
	}{
		"http refused": {httpClient, "http://" + nobody},
		"http 503":     {httpClient, unready.URL},
		"tcp refused":  {tcpClient, nobody},
		"udp refused":  {udpClient, nobody},
	} {
		t.Run(name, func(t *testing.T) {
			output, err := exec.Command("sh", "-c", test.client, "sh", test.target, "2").Output()
			if err != nil {
				t.Fatal(err)
			}
			if answers := parseAnswers(string(output)); len(answers) != 0 || firstFailure(string(output)) == "no output" {
				t.Errorf("%q", output)
			}
		})
	}
}

func serveHTTP(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answerLine) }))
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
			if _, err := socket.WriteTo([]byte(answerLine), from); err != nil {
				return
			}
		}
	}()
	return socket.LocalAddr().String()
}
