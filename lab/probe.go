package lab

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
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
	if target.Scheme == "unix" {
		return u.probeRuntime(ctx, target.Path)
	}
	if target.Scheme == "tcp" {
		c, err := u.dial(ctx, "tcp", target.Host)
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

// probeRuntime asks a container runtime for its version by gRPC, as the kubelet does first. The socket is there before
// the runtime has found its containers again; until then it refuses, and a kubelet that starts then ends.
func (u Unit) probeRuntime(ctx context.Context, socket string) error {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return u.dial(ctx, "unix", socket) },
		Protocols:   new(http.Protocols),
	}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	// gRPC's frame of an empty message: not compressed, no bytes.
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://runtime/runtime.v1.RuntimeService/Version", bytes.NewReader(make([]byte, 5)))
	if err != nil {
		return fmt.Errorf("probing %s: %w", u, err)
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	response, err := (&http.Client{Transport: transport, Timeout: time.Second}).Do(request)
	if err != nil {
		return fmt.Errorf("probing %s: %w", u, err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return fmt.Errorf("probing %s: %w", u, err)
	}
	// A refusal without a response is all in the header.
	result := response.Trailer
	if response.Header.Get("Grpc-Status") != "" {
		result = response.Header
	}
	if result.Get("Grpc-Status") != "0" {
		return fmt.Errorf("probing %s: gRPC status %s: %s", u, result.Get("Grpc-Status"), result.Get("Grpc-Message"))
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
