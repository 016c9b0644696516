package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// kind is a sort of traffic.
type kind struct {
	name, about, unit string
	udp               bool
	run               func(ctx context.Context, address string, d time.Duration) (float64, error)
}

// What a connection begins with tells the server what to do.
const (
	bulk = 'b' // send as much as possible
	echo = 'e' // repeat
)

const messageSize = 64

func kinds(clients int) []kind {
	return []kind{
		{"throughput, one connection", "one client reads as fast as it can", "Gbit/s", false, throughput(1)},
		{"throughput, several connections", fmt.Sprintf("%d clients read as fast as they can", clients), "Gbit/s", false, throughput(clients)},
		{"new connections", fmt.Sprintf("%d clients connect, send %d bytes, get them back and close", clients, messageSize), "1/s", false, newConnections(clients)},
		{"latency, median", fmt.Sprintf("one client sends %d bytes and gets them back, over one connection", messageSize), "us", false, latency("tcp", .5)},
		{"latency, 99th percentile", "the same", "us", false, latency("tcp", .99)},
		{"UDP latency, median", fmt.Sprintf("one client sends datagrams of %d bytes and gets them back", messageSize), "us", true, latency("udp", .5)},
		{"UDP datagrams", fmt.Sprintf("%d clients do", clients), "1/s", true, datagrams(clients)},
	}
}

// together runs a function for several clients at a time, and adds up what they return.
func together(clients int, f func() (float64, error)) (sum float64, err error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			n, each := f()
			mu.Lock()
			defer mu.Unlock()
			sum += n
			err = errors.Join(err, each)
		})
	}
	all.Wait()
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
			if _, err := conn.Read(buffer); err != nil { // the time of connecting is not this one's
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

func newConnections(clients int) func(context.Context, string, time.Duration) (float64, error) {
	return func(ctx context.Context, address string, d time.Duration) (float64, error) {
		began := time.Now()
		n, err := together(clients, func() (float64, error) {
			message, n := make([]byte, messageSize), 0.
			message[0] = echo
			for time.Since(began) < d {
				conn, err := dial(ctx, "tcp", address)
				if err != nil {
					return n, err
				}
				err = exchange(conn, message)
				_ = conn.(*net.TCPConn).SetLinger(0) // no port waits for its end
				_ = conn.Close()
				if err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		})
		return n / time.Since(began).Seconds(), err
	}
}

func exchange(conn net.Conn, message []byte) error {
	if _, err := conn.Write(message); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, message)
	return err
}

func latency(network string, quantile float64) func(context.Context, string, time.Duration) (float64, error) {
	return func(ctx context.Context, address string, d time.Duration) (float64, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return 0, err
		}
		defer conn.Close()
		message := make([]byte, messageSize)
		message[0] = echo
		var took []time.Duration
		for began := time.Now(); time.Since(began) < d; {
			start := time.Now()
			if err := exchange(conn, message); err != nil {
				return 0, err
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		return float64(took[int(quantile*float64(len(took)-1))].Nanoseconds()) / 1000, nil
	}
}

func datagrams(clients int) func(context.Context, string, time.Duration) (float64, error) {
	return func(ctx context.Context, address string, d time.Duration) (float64, error) {
		began := time.Now()
		n, err := together(clients, func() (float64, error) {
			conn, err := dial(ctx, "udp", address)
			if err != nil {
				return 0, err
			}
			defer conn.Close()
			message, n := make([]byte, messageSize), 0.
			for time.Since(began) < d {
				if err := exchange(conn, message); err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		})
		return n / time.Since(began).Seconds(), err
	}
}
