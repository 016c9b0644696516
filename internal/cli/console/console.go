// Package console is the command `atoll console`.
package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/console"
	"github.com/atoll-mcs/atoll/internal/doctor/checkup"
)

type options struct {
	target.Scoped
	contexts  []string
	broker    string
	port      uint16
	noBrowser bool
	snapshot  string
	timeout   time.Duration
}

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "console",
		Short: "Show a clusterset in the browser",
		Long: `Shows clusters, services, conflicts, checks and Events of a clusterset in the browser, and
updates the pages. The command reads with your own permissions, and changes nothing. It serves the pages on this
machine's loopback address. The printed address works once; the browser then has a cookie.

Select the clusters with --context or --all. For clusters without a context, the pages show the broker's data.
The command reads the broker with the credentials that the first member stores, or with --broker-context.

With --snapshot, the command writes one page to a file and ends. A browser can open the file without a server.`,
		Example: `  atoll console --context c1 --context c2 --context c3
  atoll console --all --no-browser --port 8080
  atoll console --all --snapshot clusterset.html`,
		Args: cobra.NoArgs,
		RunE: o.run,
	}
	flags := command.Flags()
	o.AddContextsFlags(flags, &o.contexts)
	o.AddAllFlag(flags)
	flags.StringVar(&o.broker, "broker-context", "", "context of the broker, to read the broker with your own permissions")
	flags.Uint16Var(&o.port, "port", 0, "port on 127.0.0.1; 0 selects a free port")
	flags.BoolVar(&o.noBrowser, "no-browser", false, "do not open a browser")
	flags.StringVar(&o.snapshot, "snapshot", "", "write one page to this file and end")
	flags.DurationVar(&o.timeout, "timeout", time.Minute, "with --snapshot: maximum time to read the clusters; the page names data that could not be read in this time")
	return command
}

func (o *options) run(cmd *cobra.Command, _ []string) error {
	targets, err := o.Configs(o.contexts)
	if err != nil {
		return err
	}
	var direct *rest.Config
	if o.broker != "" {
		if direct, err = (&target.Cluster{Kubeconfig: o.Kubeconfig, Context: o.broker}).Config(); err != nil {
			return err
		}
	}
	if o.snapshot != "" {
		return o.write(cmd.Context(), targets, direct)
	}
	c, err := console.New(targets, o.Broker(), direct)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	var all sync.WaitGroup
	all.Go(func() { c.Run(ctx) })
	defer all.Wait()
	defer cancel()
	return o.serve(ctx, c, cmd.OutOrStdout(), cmd.ErrOrStderr())
}

// write writes a snapshot. An existing file is replaced only by a whole one.
func (o *options) write(ctx context.Context, targets []checkup.Target, direct *rest.Config) error {
	file, err := os.CreateTemp(filepath.Dir(o.snapshot), ".atoll-console-*")
	if err != nil {
		return fmt.Errorf("the snapshot %s cannot be written: %w", o.snapshot, errors.Unwrap(err)) // not the name of a temporary file
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if err := errors.Join(console.TakeSnapshot(ctx, targets, o.Broker(), direct, o.timeout, nil, file), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), o.snapshot)
}

// serve serves until ctx is done.
func (o *options) serve(ctx context.Context, c *console.Console, out, errOut io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", o.port))
	if err != nil {
		return fmt.Errorf("%w: choose another --port", err)
	}
	s := console.NewServer(c, listener.Addr())
	server := console.NewHTTPServer(s.Handler())
	fmt.Fprintf(out, "%s\nThe address works once. Press Ctrl-C to end.\n", s.URL())
	if !o.noBrowser {
		home, err := os.UserHomeDir() // browsers in sandboxes do not read /tmp
		folder := ""
		if err == nil {
			folder, err = os.MkdirTemp(home, "atoll-console-")
		}
		if err == nil {
			remove := func() { _ = os.RemoveAll(folder) }
			defer remove()
			time.AfterFunc(openTime, remove) // also if nothing else does: a closed terminal ends the program
			err = open(ctx, folder, s.URL())
		}
		if err != nil {
			fmt.Fprintln(errOut, "no browser was opened:", err)
		}
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// openTime is how long a browser may take to read the file with the address.
const openTime = 30 * time.Second

// open opens the browser, unless this is a session without a display. The address is in a file that only this user can read: every
// user of the machine sees the arguments of programs.
func open(ctx context.Context, folder, url string) error {
	page := filepath.Join(folder, "atoll-console.html")
	if err := os.WriteFile(page, fmt.Appendf(nil, `<!doctype html><meta http-equiv="refresh" content="0; url=%s">`, url), 0o600); err != nil {
		return err
	}
	url = page
	var command []string
	switch {
	case os.Getenv("SSH_CONNECTION") != "":
		return errors.New("this is a session over SSH. Forward the port, and open the address on your own machine")
	case runtime.GOOS == "darwin":
		command = []string{"open", url}
	case runtime.GOOS == "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", url}
	case os.Getenv("DISPLAY")+os.Getenv("WAYLAND_DISPLAY") == "":
		return errors.New("this session has no display. Open the address in a browser on this machine, or through ssh -L")
	default:
		command = []string{"xdg-open", url}
	}
	browser := exec.CommandContext(ctx, command[0], command[1:]...)
	if err := browser.Start(); err != nil {
		return err
	}
	go func() { _ = browser.Wait() }()
	return nil
}
