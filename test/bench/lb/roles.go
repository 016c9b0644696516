package main

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
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"

	_ "github.com/atoll-mcs/atoll/cloudprovider/embedded" // registers itself
	_ "github.com/atoll-mcs/atoll/cloudprovider/haproxy"  // registers itself
)

// role is this program once more, which is a server or a load balancer until its standard input
// ends. Its first line of output is its address.
type role struct {
	address string
	command *exec.Cmd
	input   io.Closer
}

// start starts a role. It is not killed with its starter's context: it ends with its input, and a load balancer takes down a HAProxy
// then, which would outlive it.
func start(arguments ...string) (*role, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &role{command: exec.Command(self, arguments...)}
	r.command.Stderr = os.Stderr
	if r.input, err = r.command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := r.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.command.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		r.stop()
		return nil, fmt.Errorf("starting %v: %w", arguments, err)
	}
	r.address = strings.TrimSpace(line)
	return r, nil
}

func (r *role) stop() {
	_ = r.input.Close()
	_ = r.command.Wait()
}

func newServer() *cobra.Command {
	return &cobra.Command{
		Use: "server", Short: "Be the server that is measured", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
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
			fmt.Fprintln(cmd.OutOrStdout(), listener.Addr())
			_, err = io.Copy(io.Discard, cmd.InOrStdin())
			return err
		},
	}
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
			what := make([]byte, 1)
			if _, err := conn.Read(what); err != nil {
				return
			}
			if what[0] == bulk {
				for {
					if _, err := conn.Write(zeros); err != nil {
						return
					}
				}
			}
			if rest := make([]byte, messageSize); readRest(conn, what, rest) == nil {
				_, _ = conn.Write(rest)
				_, _ = io.Copy(conn, conn)
			}
		}()
	}
}

// readRest completes the first message.
func readRest(conn net.Conn, first, message []byte) error {
	copy(message, first)
	_, err := io.ReadFull(conn, message[1:])
	return err
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

func newForwarder() *cobra.Command {
	return &cobra.Command{
		Use: "forwarder PROVIDER BACKEND", Short: "Be a load balancer that is measured", Hidden: true, Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return forward(cmd.Context(), args[0], args[1], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

// one is a lister of one backend.
type one struct{ backend cloudprovider.Backend }

func (o one) Service(types.NamespacedName) (cloudprovider.Service, error) {
	var s cloudprovider.Service
	for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
		s.Ports = append(s.Ports, cloudprovider.Port{Protocol: protocol, Number: 8080, Backends: []cloudprovider.Backend{o.backend}})
	}
	return s, nil
}

func (o one) OnChange(func(types.NamespacedName)) func() { return func() {} }

func forward(ctx context.Context, name, backend string, in io.Reader, out io.Writer) (err error) {
	at, err := netip.ParseAddrPort(backend)
	if err != nil {
		return err
	}
	config := cloudprovider.Config{
		Backends: one{cloudprovider.Backend{Address: at}}, Options: map[string]string{},
		Addresses: []string{fmt.Sprintf("127.77.%d.%d", os.Getpid()/250%250, 1+os.Getpid()%250)}, Log: slog.New(slog.DiscardHandler),
	}
	if name == "haproxy" {
		if config.Options["dir"], err = os.MkdirTemp("", "lb"); err != nil {
			return err
		}
		defer os.RemoveAll(config.Options["dir"])
	}
	provider, err := cloudprovider.New(name, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, provider.(io.Closer).Close()) }()
	mcs := &networkingv1alpha1.MultiClusterService{}
	mcs.Namespace, mcs.Name = "bench", "lb"
	status, err := provider.EnsureMCSLoadBalancer(ctx, mcs)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, net.JoinHostPort(status.Ingress[0].IP, "8080"))
	_, _ = io.Copy(io.Discard, in) // ends with whoever has started this
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return provider.EnsureMCSLoadBalancerDeleted(ctx, mcs)
}
