package lb

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"

	_ "github.com/atoll-mcs/atoll/cloudprovider/embedded" // registers itself
	"github.com/atoll-mcs/atoll/cloudprovider/haproxy"
)

// The names of the roles Server and Forwarder.
const (
	RoleServer    = "server"
	RoleForwarder = "forwarder"
)

// Server is the role of the backend. It writes its address.
func Server(_ context.Context, _ []string, in io.Reader, out io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	packets, err := net.ListenPacket("udp", listener.Addr().String())
	if err != nil {
		return err
	}
	go serve(listener)
	go repeat(packets)
	fmt.Fprintln(out, listener.Addr())
	_, err = io.Copy(io.Discard, in)
	return err
}

func serve(listener net.Listener) {
	zeros := make([]byte, 256<<10)
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			reader := bufio.NewReader(conn)
			what, err := reader.Peek(1)
			if err != nil {
				return
			}
			for what[0] == bulk {
				if _, err := conn.Write(zeros); err != nil {
					return
				}
			}
			_, _ = io.Copy(conn, reader)
		}()
	}
}

func repeat(packets net.PacketConn) {
	buffer := make([]byte, 2048)
	for {
		n, from, err := packets.ReadFrom(buffer)
		if err != nil {
			return
		}
		_, _ = packets.WriteTo(buffer[:n], from)
	}
}

// one lists a single backend.
type one struct{ backend cloudprovider.Backend }

func (o one) Service(types.NamespacedName) (cloudprovider.Service, error) {
	var s cloudprovider.Service
	for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
		s.Ports = append(s.Ports, cloudprovider.Port{Protocol: protocol, Number: 8080, Backends: []cloudprovider.Backend{o.backend}})
	}
	return s, nil
}

// Forwarder is the role of a load balancer. The arguments are the provider and the backend. It
// writes its address.
func Forwarder(ctx context.Context, args []string, in io.Reader, out io.Writer) (err error) {
	at, err := netip.ParseAddrPort(args[1])
	if err != nil {
		return err
	}
	config := cloudprovider.Config{
		Backends: one{cloudprovider.Backend{Address: at}}, Options: map[string]string{},
		Addresses: []string{fmt.Sprintf("127.77.%d.%d", os.Getpid()/250%250, 1+os.Getpid()%250)}, Log: slog.New(slog.DiscardHandler),
	}
	if args[0] == haproxy.Name {
		dir, err := os.MkdirTemp("", "lb")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		stop, err := startHAProxy(ctx, dir)
		if err != nil {
			return err
		}
		defer stop()
		config.Options["dir"] = dir
	}
	provider, err := cloudprovider.New(args[0], config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, provider.(io.Closer).Close()) }()
	mcs := &networkingv1alpha1.MultiClusterService{}
	mcs.Namespace, mcs.Name = "bench", "lb"
	var status *corev1.LoadBalancerStatus
	var failed error
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		status, failed = provider.EnsureMCSLoadBalancer(ctx, mcs) // fails while HAProxy is starting
		return failed == nil, nil
	})
	if err != nil {
		return errors.Join(err, failed)
	}
	fmt.Fprintln(out, net.JoinHostPort(status.Ingress[0].IP, "8080"))
	_, _ = io.Copy(io.Discard, in) // ends when the parent closes the input
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return provider.EnsureMCSLoadBalancerDeleted(ctx, mcs)
}

// startHAProxy starts HAProxy as its service does, with a directory, until stop is called.
func startHAProxy(ctx context.Context, dir string) (stop func(), err error) {
	program, err := haproxy.Program()
	if err != nil {
		return nil, err
	}
	first := filepath.Join(dir, "first") // HAProxy reads only *.cfg files from the folder
	if err := os.WriteFile(first, []byte(haproxy.FirstConfiguration(dir)), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, haproxy.Arguments(dir, first)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // the master ends its workers
		_ = cmd.Wait()
	}, nil
}
