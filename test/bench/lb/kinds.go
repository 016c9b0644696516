package lb

import (
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// kind is a kind of traffic.
type kind struct {
	name, unit string
	udp        bool
	run        func(ctx context.Context, address string, d time.Duration) (float64, error)
}

// The first byte of a connection is a command for the server.
const (
	bulk = 'b' // send as much as possible
	echo = 'e' // repeat
)

const messageSize = 64

// clients is the number of parallel clients.
const clients = 8

var kinds = []kind{
	{"throughput of one connection", "Gbit/s", false, throughput(1)},
	{"throughput of eight connections", "Gbit/s", false, throughput(clients)},
	{"new connections of eight clients, with one request each", "1/s", false, rate("tcp", true)},
	{"latency of 64 bytes and back, median", "us", false, latency("tcp", .5)},
	{"the same, 99th percentile", "us", false, latency("tcp", .99)},
	{"latency of a datagram and back, median", "us", true, latency("udp", .5)},
	{"datagrams of eight clients", "1/s", true, rate("udp", false)},
}

// together runs f for several clients in parallel and adds the results.
func together(clients int, f func() (float64, error)) (sum float64, err error) {
	var mu sync.Mutex
	var all errgroup.Group
	for range clients {
		all.Go(func() error {
			n, err := f()
			mu.Lock()
			defer mu.Unlock()
			sum += n
			return err
		})
	}
	err = all.Wait()
	return sum, err
}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(time.Minute))
}

func throughput(clients int) func(context.Context, string, time.Duration) (float64, error) {
	return func(ctx context.Context, address string, d time.Duration) (float64, error) {
		return together(clients, func() (float64, error) {
			conn, err := dial(ctx, "tcp", address)
			if err != nil {
				return 0, err
			}
			defer conn.Close()
			if _, err := conn.Write([]byte{bulk}); err != nil {
				return 0, err
			}
			buffer := make([]byte, 256<<10)
			if _, err := conn.Read(buffer); err != nil { // exclude the time of connecting
				return 0, err
			}
			bytes, began := 0, time.Now()
			for time.Since(began) < d {
				n, err := conn.Read(buffer)
				if err != nil {
					return 0, err
				}
				bytes += n
			}
			return float64(bytes) * 8 / 1e9 / time.Since(began).Seconds(), nil
		})
	}
}

// rate returns a measurement of the messages that several clients get back per second, over one
// connection each, or with a new connection for each message.
func rate(network string, anew bool) func(context.Context, string, time.Duration) (float64, error) {
	return func(ctx context.Context, address string, d time.Duration) (float64, error) {
		each := d
		if anew {
			each = 0
		}
		began := time.Now()
		sum, err := together(clients, func() (sum float64, err error) {
			for err == nil && time.Since(began) < d {
				var n int
				n, err = exchanges(ctx, network, address, each, nil)
				sum += float64(n)
			}
			return sum, err
		})
		return sum / time.Since(began).Seconds(), err
	}
}

// exchanges sends messages over one connection and reads them back, at least one, until d has
// passed. It returns their number and appends their durations to took.
func exchanges(ctx context.Context, network, address string, d time.Duration, took *[]time.Duration) (n int, err error) {
	conn, err := dial(ctx, network, address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // no port stays in TIME_WAIT
	}
	message := make([]byte, messageSize)
	message[0] = echo
	for began := time.Now(); n == 0 || time.Since(began) < d; n++ {
		start := time.Now()
		if _, err := conn.Write(message); err != nil {
			return n, err
		}
		if _, err := io.ReadFull(conn, message); err != nil {
			return n, err
		}
		if took != nil {
			*took = append(*took, time.Since(start))
		}
	}
	return n, nil
}

func latency(network string, quantile float64) func(context.Context, string, time.Duration) (float64, error) {
	return func(ctx context.Context, address string, d time.Duration) (float64, error) {
		var took []time.Duration
		if _, err := exchanges(ctx, network, address, d, &took); err != nil {
			return 0, err
		}
		slices.Sort(took)
		return float64(took[int(quantile*float64(len(took)-1))].Nanoseconds()) / 1000, nil
	}
}
