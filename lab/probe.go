package lab

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
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
	if err := u.ask(ctx); err != nil {
		return fmt.Errorf("probing %s: %w", u, err)
	}
	return nil
}

func (u Unit) ask(ctx context.Context) error {
	target, err := url.Parse(u.Probe)
	switch {
	case err != nil:
		return err
	case target.Scheme == "unix":
		return u.askRuntime(ctx, target.Path)
	case target.Scheme == "tcp":
		c, err := u.dial(ctx, "tcp", target.Host)
		if err != nil {
			return err
		}
		return c.Close()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.Probe, nil)
	if err != nil {
		return err
	}
	// No secrets are sent, and only readiness is read.
	_, err = send(request, &http.Transport{DialContext: u.dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}})
	return err
}

// askRuntime asks a container runtime for its version by gRPC, as the kubelet does first. The socket is there before
// the runtime has found its containers again; until then it refuses, and a kubelet that starts then ends.
func (u Unit) askRuntime(ctx context.Context, socket string) error {
	// gRPC's frame of an empty message: not compressed, no bytes.
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://runtime/runtime.v1.RuntimeService/Version", bytes.NewReader(make([]byte, 5)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return u.dial(ctx, "unix", socket) },
		Protocols:   new(http.Protocols),
	}
	transport.Protocols.SetUnencryptedHTTP2(true)
	response, err := send(request, transport)
	if err != nil {
		return err
	}
	// A refusal without a response is all in the header.
	result := response.Trailer
	if response.Header.Get("Grpc-Status") != "" {
		result = response.Header
	}
	if result.Get("Grpc-Status") != "0" {
		return fmt.Errorf("gRPC status %s: %s", result.Get("Grpc-Status"), result.Get("Grpc-Message"))
	}
	return nil
}

// send sends a request that has to be answered with 200 within a second. It reads the whole response, for its trailer.
func send(request *http.Request, transport *http.Transport) (*http.Response, error) {
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport, Timeout: time.Second}).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response, err
}

// dial connects from the unit's network namespace.
func (u Unit) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if u.Namespace == "" {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	return u.Namespace.DialContext(ctx, network, address)
}
