package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Dial connects to an address as the container would.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Target is what probes and hooks aim at.
type Target struct {
	// Host is the Pod's address, for actions that name none.
	Host string
	// Ports are the container's, which actions may refer to by name.
	Ports []corev1.ContainerPort
	Dial  Dial
}

// Port resolves a port number or name.
func (t Target) Port(port intstr.IntOrString) (string, error) {
	if port.Type == intstr.Int {
		return strconv.Itoa(port.IntValue()), nil
	}
	for _, p := range t.Ports {
		if p.Name == port.StrVal {
			return strconv.Itoa(int(p.ContainerPort)), nil
		}
	}
	if _, err := strconv.Atoi(port.StrVal); err == nil {
		return port.StrVal, nil
	}
	return "", fmt.Errorf("no port named %q", port.StrVal)
}

// HTTPGet asks for a page; a status of 200 to 399 is success.
func (t Target) HTTPGet(ctx context.Context, action *corev1.HTTPGetAction) error {
	request, err := t.request(ctx, action)
	if err != nil {
		return err
	}
	client := &http.Client{
		Transport: &http.Transport{
			DialContext: t.Dial, DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // as the kubelet does: it knows no CA
		},
		CheckRedirect: func(next *http.Request, _ []*http.Request) error {
			if next.URL.Hostname() != request.URL.Hostname() {
				return http.ErrUseLastResponse // leading elsewhere is success
			}
			return nil
		},
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 10<<10))
	if response.StatusCode < 200 || response.StatusCode >= 400 {
		return fmt.Errorf("HTTP probe failed with statuscode: %d", response.StatusCode)
	}
	return nil
}

func (t Target) request(ctx context.Context, action *corev1.HTTPGetAction) (*http.Request, error) {
	port, err := t.Port(action.Port)
	if err != nil {
		return nil, err
	}
	host := action.Host
	if host == "" {
		host = t.Host
	}
	path, err := url.Parse(action.Path)
	if err != nil {
		return nil, err
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: path.Path, RawQuery: path.RawQuery}
	if action.Scheme == corev1.URISchemeHTTPS {
		u.Scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "kube-probe/atoll")
	for _, h := range action.HTTPHeaders {
		request.Header.Add(h.Name, h.Value)
	}
	if h := request.Header.Get("Host"); h != "" {
		request.Host = h
	}
	return request, nil
}

// TCP connects.
func (t Target) TCP(ctx context.Context, action *corev1.TCPSocketAction) error {
	port, err := t.Port(action.Port)
	if err != nil {
		return err
	}
	host := action.Host
	if host == "" {
		host = t.Host
	}
	conn, err := t.Dial(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return err
	}
	return conn.Close()
}

// GRPC asks the gRPC health service.
func (t Target) GRPC(ctx context.Context, action *corev1.GRPCAction) error {
	address := net.JoinHostPort(t.Host, strconv.Itoa(int(action.Port)))
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return t.Dial(ctx, "tcp", address)
		}))
	if err != nil {
		return err
	}
	defer conn.Close()
	request := &health.HealthCheckRequest{}
	if action.Service != nil {
		request.Service = *action.Service
	}
	response, err := health.NewHealthClient(conn).Check(ctx, request)
	if err != nil {
		return err
	}
	if response.Status != health.HealthCheckResponse_SERVING {
		return errors.New("health service says " + response.Status.String())
	}
	return nil
}
