package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	// answerTime is the timeout of one DNS query or connection.
	answerTime = 3 * time.Second
	// pause is the time between retries.
	pause = 200 * time.Millisecond
)

// again calls try until it succeeds, or once without await. It reports whether try succeeded.
func again(ctx context.Context, await bool, try func(context.Context) bool) bool {
	for {
		one, cancel := context.WithTimeout(ctx, answerTime)
		done := try(one)
		cancel()
		if done || !await {
			return done
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
}

func ask(ctx context.Context, q Question) Answer {
	answer := Answer{Question: q}
	resolver := &net.Resolver{PreferGo: true}
	if q.Server != "" {
		resolver.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(q.Server, "53"))
		}
	}
	again(ctx, q.Await, func(ctx context.Context) bool {
		start := time.Now()
		values, err := lookup(ctx, resolver, q)
		answer.Milliseconds = milliseconds(time.Since(start))
		slices.Sort(values)
		answer.Values, answer.Error = values, text(err)
		var failed *net.DNSError
		answer.Absent = errors.As(err, &failed) && failed.IsNotFound
		return err == nil
	})
	return answer
}

func lookup(ctx context.Context, resolver *net.Resolver, q Question) ([]string, error) {
	switch q.Type {
	case "TXT":
		return resolver.LookupTXT(ctx, q.Name)
	case "SOA":
		return zones(ctx, net.JoinHostPort(q.Server, "53"), q.Name)
	case "A", "AAAA":
		network := map[string]string{"A": "ip4", "AAAA": "ip6"}[q.Type]
		ips, err := resolver.LookupNetIP(ctx, network, q.Name)
		values := make([]string, len(ips))
		for i, ip := range ips {
			values[i] = ip.Unmap().String()
		}
		return values, err
	}
	return nil, fmt.Errorf("this program cannot send DNS queries of type %q", q.Type)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// requests is the number of requests to a server. The first one opens the connection.
const requests = 4

func request(ctx context.Context, s Server) Replied {
	replied := Replied{Server: s}
	replied.CA = "" // the report does not need it
	roots := (*x509.CertPool)(nil)
	if s.CA != "" {
		roots = x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(s.CA))
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}, Timeout: 3 * answerTime}
	defer client.CloseIdleConnections()
	for i := range requests {
		start := time.Now()
		response, at, err := get(ctx, client, s.URL)
		if err != nil {
			replied.Error = err.Error()
			return replied
		}
		replied.Status = response
		if took := milliseconds(time.Since(start)); i == 1 || i > 1 && took < replied.Milliseconds {
			replied.Milliseconds = took
		}
		if !at.IsZero() {
			replied.Ahead = Ahead(at, start, time.Now()).Seconds()
		}
	}
	return replied
}

// get requests /version, which any user may read. Any status will do.
func get(ctx context.Context, client *http.Client, url string) (status int, at time.Time, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/version", nil)
	if err != nil {
		return 0, time.Time{}, err
	}
	response, err := client.Do(r)
	if err != nil {
		return 0, time.Time{}, err
	}
	defer response.Body.Close()
	at, _ = http.ParseTime(response.Header.Get("Date")) // a proxy may have removed the header
	return response.StatusCode, at, nil
}

// Ahead returns how far another clock is ahead of this one. The other clock showed at, to the second, between start
// and end. It returns 0 when the clocks may agree.
func Ahead(at, start, end time.Time) time.Duration {
	switch {
	case at.After(end):
		return at.Sub(end)
	case at.Add(time.Second).Before(start):
		return at.Add(time.Second).Sub(start)
	}
	return 0
}
