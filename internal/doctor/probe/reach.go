package probe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Protocol of probes: the client sends the line "atoll-probe N" and N bytes. The server answers with the line
// "IDENTITY" and the same bytes.
const greeting = "atoll-probe"

// maxBytes limits a server's answer.
const maxBytes = 1 << 20

// atOnce is the number of parallel connections of one kind. lossy is how often a datagram is sent, because programs
// retry lost datagrams, too.
const atOnce, lossy = 8, 3

func reach(ctx context.Context, c Connection) Reached {
	reached := Reached{Connection: c, By: map[string]int{}}
	var mu sync.Mutex
	try := func(ctx context.Context) bool {
		start := time.Now()
		by, err := connect(ctx, c)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			reached.Error = err.Error()
			return false
		}
		if took := milliseconds(time.Since(start)); len(reached.By) == 0 || took < reached.Milliseconds {
			reached.Milliseconds = took
		}
		reached.By[by]++
		return true
	}
	times, tries := max(1, c.Times), 1
	if c.Network == "udp" {
		tries = lossy
	}
	attempt := func(await bool) {
		for range tries {
			if again(ctx, await, try) || await {
				return
			}
		}
	}
	attempt(c.Await)
	if len(reached.By) > 0 { // otherwise each further attempt would time out, too
		var group errgroup.Group
		group.SetLimit(atOnce)
		for range times - 1 {
			group.Go(func() error { attempt(false); return nil })
		}
		_ = group.Wait() // the functions return no errors
	}
	reached.Failed = times
	for _, n := range reached.By {
		reached.Failed -= n
	}
	if reached.Failed == 0 {
		reached.Error = ""
	}
	return reached
}

func connect(ctx context.Context, c Connection) (by string, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, c.Network, c.Address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return "", err
		}
	}
	go func() { _, _ = fmt.Fprintf(conn, "%s %d\n%s", greeting, c.Bytes, strings.Repeat("x", c.Bytes)) }() // a failure shows up when reading
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the connection succeeded, but no answer arrived: %w", err)
	}
	if n, err := io.CopyN(io.Discard, in, int64(c.Bytes)); err != nil {
		return "", fmt.Errorf("small packets arrive, but only %d of %d bytes of large packets came back: %w", n, c.Bytes, err)
	}
	return strings.TrimSpace(line), nil
}

// Listener answers other probes over TCP and UDP.
type Listener struct {
	tcp net.Listener
	udp net.PacketConn
}

// Listen opens a HOST:PORT for other probes.
func Listen(ctx context.Context, address string) (*Listener, error) {
	var config net.ListenConfig
	tcp, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	udp, err := config.ListenPacket(ctx, "udp", tcp.Addr().String())
	if err != nil {
		tcp.Close()
		return nil, err
	}
	return &Listener{tcp, udp}, nil
}

// Serve answers other probes until ctx is done. identity is one word.
func (l *Listener) Serve(ctx context.Context, identity string) {
	tcp, udp := l.tcp, l.udp
	defer tcp.Close()
	defer udp.Close()
	go answerDatagrams(udp, identity)
	go func() {
		for {
			conn, err := tcp.Accept()
			if err != nil {
				return // closed
			}
			go answer(conn, identity)
		}
	}()
	<-ctx.Done()
}

func answer(conn net.Conn, identity string) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(answerTime)) // if this fails, reading fails below
	in := bufio.NewReader(conn)
	var size int64
	if _, err := fmt.Fscanf(in, greeting+" %d\n", &size); err != nil || size < 0 || size > maxBytes {
		return // another client, for example a kubelet's TCP probe
	}
	if _, err := fmt.Fprintln(conn, identity); err == nil {
		_, _ = io.CopyN(conn, in, size) // the client reports a failure
	}
}

func answerDatagrams(conn net.PacketConn, identity string) {
	buffer := make([]byte, 512)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return // closed
		}
		if strings.HasPrefix(string(buffer[:n]), greeting) {
			_, _ = conn.WriteTo([]byte(identity+"\n"), from) // the client reports a failure
		}
	}
}
