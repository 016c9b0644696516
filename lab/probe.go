package lab

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// waitProbe waits until a unit's probe succeeds, or the unit has ended.
func (l *Lab) waitProbe(ctx context.Context, u Unit) error {
	if u.Probe == "" {
		return nil
	}
	return l.wait(ctx, u.String(), []Unit{u}, u.probe)
}

// probe checks once whether the unit is ready.
func (u Unit) probe(ctx context.Context) error {
	target, err := url.Parse(u.Probe)
	if err != nil {
		return fmt.Errorf("probing %s: %w", u, err)
	}
	if target.Scheme == "tcp" || target.Scheme == "unix" {
		c, err := u.dial(ctx, target.Scheme, target.Host+target.Path)
		if err != nil {
			return fmt.Errorf("probing %s: %w", u, err)
		}
		return c.Close()
	}
	transport := &http.Transport{
		DialContext:     u.dial,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // no secrets are sent, and only readiness is read
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.Probe, nil)
	if err != nil {
		return fmt.Errorf("probing %s: %w", u, err)
	}
	response, err := (&http.Client{Transport: transport, Timeout: time.Second}).Do(request)
	if err != nil {
		return fmt.Errorf("probing %s: %w", u, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("probing %s: %s", u, response.Status)
	}
	return nil
}

// dial connects from the unit's network namespace.
func (u Unit) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if u.Namespace == "" {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	return u.Namespace.DialContext(ctx, network, address)
}
