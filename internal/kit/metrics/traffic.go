package metrics

import (
	"context"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
)

// Traffic counts the bytes on connections, after compression and with TLS overhead.
type Traffic struct {
	bytes          *prometheus.CounterVec
	received, sent prometheus.Counter
}

// NewTraffic returns a counter at zero.
func NewTraffic() *Traffic {
	bytes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "broker_bytes_total",
		Help: "Number of bytes on the connections to the broker, by direction.",
	}, []string{"direction"})
	return &Traffic{bytes: bytes, received: bytes.WithLabelValues("received"), sent: bytes.WithLabelValues("sent")}
}

// Count returns a client configuration whose connections are counted.
func (t *Traffic) Count(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext // client-go's default
	}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &countedConn{Conn: conn, traffic: t}, nil
	}
	return config
}

type countedConn struct {
	net.Conn
	traffic *Traffic
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.traffic.received.Add(float64(n))
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.traffic.sent.Add(float64(n))
	return n, err
}
