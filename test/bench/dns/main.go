// Command dns measures atoll-dns beside stock CoreDNS's multicluster option, the plugin hosts
// and the plugin whoami: one program in four configurations, in the same run, with the same
// questions. See docs/dns.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench-dns:", err)
		os.Exit(1)
	}
}

// bench is one run of the benchmark.
type bench struct {
	options
	self       string
	dir        string // for files of its own
	log        io.Writer
	began      time.Time
	machine    figure.Machine // as it was then
	kubeconfig string
	hosts      string // the file for the plugin hosts
	api        client.WithWatch
	services   int // that are in the cluster
	// virtual and headless are up to which number they are there of each sort.
	virtual, headless int
	changed           int // how many changes there were

	serverCPUs, clientCPUs []int
}

// options are what a person chooses.
type options struct {
	sizes    []int
	rounds   int
	seconds  float64
	updates  int
	pinned   bool
	name     string
	atoll    string
	profiles string
}

func newCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "dns",
		Short: "Measure atoll-dns beside stock CoreDNS",
		Long: `Starts an API server, fills it with services, and measures four configurations of one DNS
server: atoll (our plugin clusterset), stock (CoreDNS's plugin kubernetes with its option
multicluster), hosts (CoreDNS's plugin hosts with the same names) and whoami (CoreDNS's
plugin whoami, which looks nothing up). dnsperf asks them by turns, several times.

Each server runs on one processor, with GOMAXPROCS=1, and dnsperf on another one, so that
they do not take each other's time; on a machine with one processor they do.

The table goes to standard error, one JSON document to standard output.`,
		Example: `  make bench-dns
  go run ./test/bench/dns --services 1000 --rounds 3`,
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.IntSliceVar(&o.sizes, "services", []int{1_000, 50_000}, "how many services there are, in growing order")
	flags.IntVar(&o.rounds, "rounds", 5, "how many times each server is asked each sort of question")
	flags.Float64Var(&o.seconds, "seconds", 2, "for how long each time")
	flags.IntVar(&o.updates, "updates", 30, "how many changes of each sort are made, idle and under load")
	flags.BoolVar(&o.pinned, "pin", true, "keep server and dnsperf on processors of their own")
	flags.StringVar(&o.name, "name", fmt.Sprintf("bench-dns-%d", os.Getpid()), "name of the lab with the API server")
	flags.StringVar(&o.atoll, "atoll", "bin/atoll", "the program atoll")
	flags.StringVar(&o.profiles, "profiles", "", "folder to write CPU profiles of the servers to")
	command.AddCommand(newServer())
	return command
}

func (o options) run(ctx context.Context, out, progress io.Writer) error {
	if _, err := exec.LookPath("dnsperf"); err != nil {
		return errors.New("dnsperf is missing: apt-get install dnsperf")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "atoll-bench-dns-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{
		options: o, self: self, dir: dir, log: progress, began: time.Now(), machine: figure.ThisMachine(),
		kubeconfig: filepath.Join(dir, "kubeconfig"), hosts: filepath.Join(dir, "hosts"),
	}
	if n := runtime.NumCPU(); o.pinned && n > 1 {
		b.serverCPUs, b.clientCPUs = []int{0}, []int{n - 1}
	}
	if err := b.cluster(ctx); err != nil {
		return err
	}
	defer func() {
		if err := lab.Down(context.WithoutCancel(ctx), o.name); err != nil {
			b.say("%v", err)
		}
	}()
	found, err := b.measure(ctx)
	if err != nil {
		return err
	}
	return found.write(out, progress)
}

// cluster starts an API server with our kinds, and without anything of ours that runs.
func (b *bench) cluster(ctx context.Context) error {
	program, err := filepath.Abs(b.atoll)
	if err != nil {
		return err
	}
	l, err := lab.Up(ctx, lab.Options{
		Shape:    lab.Shape{Name: b.name, Clusters: 1, Nodes: 1, IPFamily: lab.IPv4, ControlPlaneOnly: true, Bare: true},
		Atoll:    program,
		Progress: b.log,
	})
	if err != nil {
		return err
	}
	if err := b.prepare(ctx, l); err != nil {
		return errors.Join(err, l.Down(context.WithoutCancel(ctx)))
	}
	return nil
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.log, "%5.0fs  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

// newScheme knows the kinds that are written.
func newScheme() (*apiruntime.Scheme, error) {
	scheme := apiruntime.NewScheme()
	for _, add := range []func(*apiruntime.Scheme) error{clientgoscheme.AddToScheme, discoveryv1.AddToScheme, mcsv1beta1.Install} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}
