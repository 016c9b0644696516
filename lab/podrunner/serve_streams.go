package podrunner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/utils/exec"

	"github.com/atoll-mcs/atoll/lab/podrunner/internal/container"
)

// Limits of streams, the kubelet's.
const (
	streamIdle    = 4 * time.Hour
	streamCreated = remotecommand.DefaultStreamCreationTimeout
)

// exec serves `kubectl exec`.
func (h *handlers) exec(w http.ResponseWriter, req *http.Request) {
	h.stream(w, req, func(c streams, options *remotecommand.Options) {
		remotecommand.ServeExec(w, req, c, req.PathValue("pod"), req.PathValue("uid"), req.PathValue("container"),
			req.URL.Query()["command"], options, streamIdle, streamCreated, remotecommand.SupportedStreamingProtocols)
	})
}

// attach serves `kubectl attach` and `kubectl run -i`.
func (h *handlers) attach(w http.ResponseWriter, req *http.Request) {
	h.stream(w, req, func(c streams, options *remotecommand.Options) {
		remotecommand.ServeAttach(w, req, c, req.PathValue("pod"), req.PathValue("uid"), req.PathValue("container"),
			options, streamIdle, streamCreated, remotecommand.SupportedStreamingProtocols)
	})
}

func (h *handlers) stream(w http.ResponseWriter, req *http.Request, serve func(streams, *remotecommand.Options)) {
	c, ok := h.container(w, req)
	if !ok {
		return
	}
	if c.run == nil {
		http.Error(w, fmt.Sprintf("container %q does not run", req.PathValue("container")), http.StatusBadRequest)
		return
	}
	options, err := remotecommand.NewOptions(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	serve(streams{c.run}, options)
}

// streams connects clients with a running container.
type streams struct{ run *instance }

// ExecInContainer runs a command in the container.
func (s streams) ExecInContainer(ctx context.Context, _, _, _ string, cmd []string, in io.Reader, out, errOut io.WriteCloser,
	tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	if len(cmd) == 0 {
		return errors.New("no command")
	}
	e := container.Exec{Args: cmd, TTY: tty, Stdin: in, Resize: sizes(ctx, resize)}
	if out != nil { // a nil pointer must not become a writer
		e.Stdout = out
	}
	if errOut != nil {
		e.Stderr = errOut
	}
	code, err := s.run.process.Exec(ctx, e)
	if err != nil {
		var cannot *container.StartError
		if !errors.As(err, &cannot) {
			return err
		}
		if errOut != nil {
			fmt.Fprintln(errOut, err)
		} else if out != nil {
			fmt.Fprintln(out, err)
		}
	}
	if code != 0 {
		return exec.CodeExitError{Err: fmt.Errorf("exit code %d", code), Code: code}
	}
	return nil
}

func sizes(ctx context.Context, from <-chan remotecommand.TerminalSize) <-chan container.Size {
	if from == nil {
		return nil
	}
	to := make(chan container.Size)
	go func() {
		defer close(to)
		for size := range from {
			select {
			case to <- container.Size{Width: size.Width, Height: size.Height}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return to
}

// AttachContainer connects a client with the container's own command.
func (s streams) AttachContainer(ctx context.Context, _, _, _ string, in io.Reader, out, errOut io.WriteCloser,
	tty bool, resize <-chan remotecommand.TerminalSize) error {
	p := s.run.process
	var stdout, stderr io.Writer
	if out != nil {
		stdout = out
	}
	if errOut != nil {
		stderr = errOut
	}
	c := s.run.attached.add()
	defer s.run.attached.remove(c)
	if s.run.ctx.Err() != nil {
		return errors.New("the container has ended meanwhile") // kubectl run shows its log then
	}
	// What this does to the container is all that some wait for, and their answer is for who is connected.
	if tty && p.Terminal != nil {
		stop := make(chan struct{})
		defer close(stop)
		go container.ResizeTerminal(p.Terminal, sizes(ctx, resize), stop)
	}
	if in != nil {
		go s.feed(in)
	}
	c.copy(stdout, stderr)
	return nil
}

// feed copies a client's input to the container.
func (s streams) feed(in io.Reader) {
	p := s.run.process
	switch {
	case p.Terminal != nil:
		_, _ = io.Copy(p.Terminal, in)
	case p.Stdin != nil:
		_, _ = io.Copy(p.Stdin, in)
		if s.run.spec.StdinOnce {
			_ = p.Stdin.Close()
		}
	}
}

// portForward serves `kubectl port-forward`.
func (h *handlers) portForward(w http.ResponseWriter, req *http.Request) {
	v, ok := h.pod(w, req)
	if !ok {
		return
	}
	if v.sandbox == "" {
		http.Error(w, fmt.Sprintf("pod %q does not run", req.PathValue("pod")), http.StatusBadRequest)
		return
	}
	options, err := portforward.NewV4Options(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, req, forwarder{v}, req.PathValue("pod"), req.PathValue("uid"), options,
		streamIdle, streamCreated, portforward.SupportedProtocols)
}

// forwarder connects clients with ports of a Pod.
type forwarder struct{ view *view }

// PortForward copies between a client and a port on the Pod's loopback.
func (f forwarder) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	conn, err := f.dial(ctx, strconv.Itoa(int(port)))
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() {
		if _, err := io.Copy(conn, stream); err != nil {
			conn.Close() // the client is gone
			return
		}
		if c, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = c.CloseWrite()
		}
	}()
	_, err = io.Copy(stream, conn)
	return err
}

func (f forwarder) dial(ctx context.Context, port string) (net.Conn, error) {
	conn, err := f.view.sandbox.DialContext(ctx, "tcp4", net.JoinHostPort("127.0.0.1", port))
	if err == nil {
		return conn, nil
	}
	if conn, err6 := f.view.sandbox.DialContext(ctx, "tcp6", net.JoinHostPort("::1", port)); err6 == nil {
		return conn, nil
	}
	return nil, err
}
