package failover

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// The roles of child processes, which run in the network of a pod.
const (
	RoleClient = "failover-client"
	RoleHolder = "failover-holder"
)

// A client uses its ports in turn, each again after 5 minutes. For 2 minutes, connection tracking sends a new connection from the
// port of one without an answer to the same endpoint, whatever kube-proxy's rules are then.
const (
	firstPort = 2000
	ports     = 60_000
)

// requestTimeout is how long a client waits for an answer.
const requestTimeout = 2 * time.Second

// request is a connection for one answer.
type request struct {
	at time.Time
	by string // the cluster that answered, or "" if the request failed
	// err is why it failed.
	err string
}

// failed reports whether a request got no answer.
func failed(r request) bool { return r.by == "" }

// by returns whether a cluster answered a request.
func by(cluster string) func(request) bool { return func(r request) bool { return r.by == cluster } }

// Client is the role that sends requests to an address at a constant rate. It writes a line for each: the start in
// microseconds, and the cluster that answered, or "-" and an error.
func Client(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	fmt.Fprintln(out, "sending")
	var mu sync.Mutex
	var all sync.WaitGroup
	defer all.Wait()
	ticks := time.NewTicker(time.Second / perSecond)
	defer ticks.Stop()
	began := time.Now()
	for sent := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		for due := int(time.Since(began) * perSecond / time.Second); sent < due; sent++ { // a busy machine delays ticks
			from := firstPort + sent%ports
			all.Go(func() {
				at := time.Now()
				name, err := ask(ctx, args[0], from)
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					name = "- " + strings.ReplaceAll(err.Error(), "\n", " ")
				}
				fmt.Fprintln(out, at.UnixMicro(), name)
			})
		}
	}
}

// ask opens a connection from a port and returns the name of the cluster that answers.
func ask(ctx context.Context, address string, from int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{Port: from}}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // no port stays in TIME_WAIT
	}
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	name, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(name), err
}

// Holder is the role that keeps one connection to a cluster behind an address, and uses it ten times a second. At its end it
// writes how often the connection was used, or why it broke.
func Holder(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	address, cluster := args[0], args[1]
	conn, reader, err := connect(address, cluster)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	fmt.Fprintln(out, "holding")
	ticks := time.NewTicker(100 * time.Millisecond)
	defer ticks.Stop()
	for used := 0; ; used++ {
		select {
		case <-ctx.Done():
			fmt.Fprintln(out, used)
			return nil
		case <-ticks.C:
		}
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, err := io.WriteString(conn, "still here\n")
		if err == nil {
			_, err = reader.ReadString('\n')
		}
		if err != nil {
			fmt.Fprintln(out, "broken after", used, "uses:", err)
			return nil
		}
	}
}

// connect opens connections to an address until a cluster answers.
func connect(address, cluster string) (net.Conn, *bufio.Reader, error) {
	for range 100 {
		conn, err := net.DialTimeout("tcp", address, requestTimeout)
		if err != nil {
			return nil, nil, err
		}
		_ = conn.SetDeadline(time.Now().Add(requestTimeout))
		reader := bufio.NewReader(conn)
		name, err := reader.ReadString('\n')
		if err == nil && strings.TrimSpace(name) == cluster {
			return conn, reader, nil
		}
		_ = conn.Close()
	}
	return nil, nil, fmt.Errorf("no connection to %s reached %s", address, cluster)
}
