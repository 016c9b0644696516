package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Failure is a line of a script that failed.
type Failure struct {
	File   string
	Line   int
	Text   string // the line as written
	Output string // last output before the failure
	Err    error
}

// Error starts with file and line, so that editors can jump there.
func (f *Failure) Error() string {
	text := fmt.Sprintf("%s:%d: %s\n\t%v", f.File, f.Line, f.Text, f.Err)
	if f.Output != "" {
		text += "\nlast output:\n" + indent(f.Output)
	}
	return text
}

// indent puts a tab before every line.
func indent(text string) string {
	return "\t" + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n\t")
}

// Run is an execution of a script in a lab.
type Run struct {
	script *Script
	lab    Lab
	log    func(format string, args ...any)
	start  time.Time

	env        map[string]string
	output     string   // output of the last verb with output
	answers    []string // backends that answered the last http, udp or tcp, as CLUSTER/POD
	requests   int      // number of requests of http, udp and tcp so far
	namespaces map[string][]string
	blocked    map[string]bool // clusters where "block" drops something
	killed     map[string]bool // CLUSTER/UNIT that are still down
	rewired    map[string]bool // clusters whose DNS may not forward to atoll-dns any more
	proxied    map[string]bool // clusters whose kube-proxy may run in another mode than the lab's
	renamed    map[string]bool // clusters whose id differs from their name
	expelled   map[string]bool // clusters that may be missing on the broker
	cut        bool
	folder     string // working directory of followed pages
	figures    figures
}

// executeIn runs the script in the lab and cleans up: it heals networks, starts killed
// programs, and starts the deletion of namespaces without waiting for it. log receives the
// progress. A failed line returns a *Failure; executeIn logs the state of the clusters before
// the cleanup.
func executeIn(ctx context.Context, script *Script, lab Lab, going *deletions, log func(format string, args ...any)) error {
	if script.looksBeyondItsNamespaces() {
		if err := going.wait(); err != nil {
			return err
		}
	}
	r := &Run{
		script: script, lab: lab, log: log, start: time.Now(),
		env:        lab.Shape().env(),
		namespaces: map[string][]string{}, blocked: map[string]bool{}, killed: map[string]bool{}, rewired: map[string]bool{}, expelled: map[string]bool{}, renamed: map[string]bool{}, proxied: map[string]bool{},
	}
	err := r.lines(ctx)
	if err != nil {
		r.report(ctx)
		err = errors.Join(err, r.complaints(ctx))
	}
	for _, namespace := range slices.Sorted(maps.Keys(r.namespaces)) {
		defer going.begin(script.Name, func(ctx context.Context) error { return r.deleteNamespace(ctx, namespace) })
	}
	// Clean up even when the test was interrupted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if cleanupErr := r.cleanUp(ctx); cleanupErr != nil {
		err = errors.Join(err, fmt.Errorf("%s: cleaning up: %w", script.File, cleanupErr))
	}
	return err
}

func (r *Run) lines(ctx context.Context) error {
	for _, l := range r.script.lines {
		if l.title != "" {
			r.logf("# %s", l.title)
			continue
		}
		if err := r.line(ctx, l); err != nil {
			return &Failure{File: r.script.File, Line: l.number, Text: l.text, Output: r.output, Err: err}
		}
	}
	return nil
}

// lineTimeout limits a line in addition to its own timeout, because kubectl may wait for ever.
const lineTimeout = 2 * time.Minute

func (r *Run) line(ctx context.Context, l line) error {
	began := time.Now()
	limit := lineTimeout
	for _, c := range l.calls {
		limit = max(limit, c.verb.Takes)
	}
	if l.repeat != nil {
		limit += l.repeat.limit
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no line may take longer than %v", limit))
	defer cancel()
	chain := func(ctx context.Context) error { return r.chain(ctx, l.calls) }
	var err error
	if l.repeat == nil {
		err = chain(ctx)
	} else {
		err = l.repeat.run(ctx, chain, func(waited time.Duration, last error) {
			r.logf("  %s:%d: %.0f s: %v", r.script.Name, l.number, waited.Seconds(), last)
		})
	}
	if err == nil {
		r.logf("  %s (%.1f s)", l.text, time.Since(began).Seconds())
	}
	return err
}

// chain runs the calls in order until a call fails.
func (r *Run) chain(ctx context.Context, calls []call) error {
	for _, c := range calls {
		if err := r.call(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.verb.Name, err)
		}
	}
	return nil
}

func (r *Run) call(ctx context.Context, c call) error {
	args := make([]string, len(c.words))
	for i, w := range c.words {
		var err error
		if args[i], err = w.expand(r.env, c.verb.Pattern && i == 0); err != nil {
			return err
		}
	}
	err := c.verb.Run(ctx, r, args)
	if ctx.Err() != nil && err != nil {
		// The call was interrupted, so its result is unknown.
		return errors.Join(context.Cause(ctx), err)
	}
	if !c.negate || isUsage(err) {
		return err
	}
	if err == nil {
		return errors.New("succeeded, but must fail")
	}
	return nil
}

func (r *Run) logf(format string, args ...any) {
	r.log("%6.1fs "+format, append([]any{time.Since(r.start).Seconds()}, args...)...)
}

// A usageError is a mistake in the script. "!" and "eventually" do not hide it.
type usageError struct{ error }

func usageErrorf(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func isUsage(err error) bool { return errors.As(err, new(usageError)) }

// deletions are namespaces of finished scenarios that clusters still delete while the next
// scenario runs.
type deletions struct{ running errgroup.Group }

// begin starts a deletion in the background.
func (d *deletions) begin(scenario string, delete func(context.Context) error) {
	d.running.Go(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		if err := delete(ctx); err != nil {
			return fmt.Errorf("deleting the namespaces of %s: %w", scenario, err)
		}
		return nil
	})
}

// wait returns when all namespaces are deleted. It reports deletions that failed since the last
// call.
func (d *deletions) wait() error {
	err := d.running.Wait()
	d.running = errgroup.Group{}
	return err
}

const (
	// defaultTimeout is the default timeout of "eventually".
	defaultTimeout = 30 * time.Second
	// interval between two attempts. An attempt may start kubectl (see get), which
	// costs a tenth of a second of processor time.
	interval = 200 * time.Millisecond
	// stillWaiting is the interval at which a long wait logs its reason.
	stillWaiting = 15 * time.Second
)

// A repeat repeats a chain of calls: until it succeeds, or for as long as it must succeed.
type repeat struct {
	until bool
	limit time.Duration
}

// run repeats attempt. waiting is called at intervals with the elapsed time and the last error.
func (p *repeat) run(ctx context.Context, attempt func(context.Context) error, waiting func(time.Duration, error)) error {
	if p.until {
		return p.eventually(ctx, attempt, waiting)
	}
	return p.steadily(ctx, attempt)
}

func (p *repeat) eventually(ctx context.Context, attempt func(context.Context) error, waiting func(time.Duration, error)) error {
	began, said := time.Now(), time.Now()
	var last error
	attempts := 0
	err := wait.PollUntilContextTimeout(ctx, interval, p.limit, true, func(limited context.Context) (bool, error) {
		attempts++
		err := attempt(limited)
		if err == nil || isUsage(err) {
			return true, err
		}
		// An attempt that the limit interrupted says less than the attempt before.
		if last == nil || limited.Err() == nil {
			last = err
		}
		if time.Since(said) > stillWaiting {
			said = time.Now()
			waiting(time.Since(began), last)
		}
		return false, nil
	})
	switch {
	case err == nil || isUsage(err):
		return err
	case ctx.Err() != nil:
		return errors.Join(context.Cause(ctx), last)
	default:
		return fmt.Errorf("gave up after %v and %d attempts: %w", p.limit, attempts, last)
	}
}

func (p *repeat) steadily(ctx context.Context, attempt func(context.Context) error) error {
	began, attempts := time.Now(), 0
	return poll(ctx, func(ctx context.Context) (bool, error) {
		attempts++
		if err := attempt(ctx); err != nil {
			return false, fmt.Errorf("did not hold after %.1f s, attempt %d: %w", time.Since(began).Seconds(), attempts, err)
		}
		return time.Since(began) >= p.limit, nil
	})
}

// poll repeats attempt until it succeeds.
func poll(ctx context.Context, ask wait.ConditionWithContextFunc) error {
	err := wait.PollUntilContextCancel(ctx, interval, true, ask)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// reportTimeout limits the collection of the clusters' state after a failure.
const reportTimeout = 30 * time.Second

// report logs the objects in the scenario's namespaces.
func (r *Run) report(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	for _, cluster := range r.lab.Shape().names() {
		for _, namespace := range slices.Sorted(maps.Keys(r.namespaces)) {
			r.show(ctx, cluster, "get", "pods,services", "-n", namespace, "-o", "wide")
			r.showLogs(ctx, cluster, namespace)
			r.show(ctx, cluster, "get", "endpointslices", "-n", namespace, "--show-labels")
			r.show(ctx, cluster, "get", "endpointslices", "-n", namespace, "-o", whoFor)
			if !r.script.Shape.Bare {
				r.show(ctx, cluster, "get", "serviceexports,serviceimports", "-n", namespace, "-o", "yaml")
			}
			r.show(ctx, cluster, "get", "events", "-n", namespace, "--field-selector", "type!=Normal")
			r.showRules(ctx, cluster, namespace)
		}
	}
	if !r.script.Shape.Bare {
		r.show(ctx, Broker, "get", "membercluster,exportedservices,serviceimports,endpointslices", "-A", "--show-labels")
	}
}

// whoFor prints the generation of slices, and the zone and hints of each endpoint. kube-proxy
// selects endpoints by their hints.
const whoFor = `jsonpath={range .items[*]}{.metadata.name} generation {.metadata.generation}: {range .endpoints[*]}{.addresses[0]} {.conditions} of {.zone} for {.hints}; {end}{"\n"}{end}`

// notReady prints the names of pods with a container that is not ready.
const notReady = `jsonpath={range .items[?(@.status.containerStatuses[*].ready==false)]}{.metadata.name}{"\n"}{end}`

// showLogs prints the logs of pods that are not ready.
func (r *Run) showLogs(ctx context.Context, cluster, namespace string) {
	pods := r.kubectl(ctx, cluster, "get", "pods", "-n", namespace, "-o", notReady, "--request-timeout=5s")
	for pod := range strings.FieldsSeq(pods.Stdout) {
		r.show(ctx, cluster, "logs", pod, "-n", namespace, "--all-containers", "--tail=20")
	}
}

// showRules logs kube-proxy's rules for a namespace's services on the cluster's first node, and
// connections without an answer.
func (r *Run) showRules(ctx context.Context, cluster, namespace string) {
	const script = `nft list ruleset | grep -F -A6 -e "-$1/"; grep SYN_SENT /proc/net/nf_conntrack 2>/dev/null`
	if text := strings.TrimSpace(r.do(ctx, cluster, Command{Program: "sh", Args: []string{"-c", script, "sh", namespace}}).Stdout); text != "" {
		r.logf("%s: rules of kube-proxy, and connections without answer\n%s", cluster, indent(text))
	}
}

// complaints returns the agents' warnings and errors since the script began, and their messages
// about leader election. The summary of a failure contains no other log.
func (r *Run) complaints(ctx context.Context) (all error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	for _, cluster := range r.lab.Shape().names() {
		log := r.kubectl(ctx, cluster, "logs", "-n", "atoll-system", "-l", "app.kubernetes.io/name=atoll-agent", "--prefix", "--tail=-1",
			fmt.Sprintf("--since=%ds", int(time.Since(r.start).Seconds())+1), "--request-timeout=5s")
		var lines []string
		for line := range strings.Lines(log.Stdout) {
			if strings.Contains(line, `"WARN"`) || strings.Contains(line, `"ERROR"`) || strings.Contains(line, "leader") {
				lines = append(lines, strings.TrimSpace(line[:min(len(line), complaintSize)]))
			}
		}
		if len(lines) > 0 {
			all = errors.Join(all, fmt.Errorf("agents of %s:\n%s", cluster, indent(strings.Join(lines[max(0, len(lines)-complaints):], "\n"))))
		}
	}
	return all
}

// Limits of complaints: lines of each cluster, the last ones, and bytes of each line.
const (
	complaints    = 12
	complaintSize = 300
)

// show logs a kubectl listing. It skips an empty listing.
func (r *Run) show(ctx context.Context, cluster string, args ...string) {
	quick := append(slices.Clone(args), "--request-timeout=5s") // the API server may be killed or cut off
	text := strings.TrimSpace(r.kubectl(ctx, cluster, quick...).text())
	if text == "" || strings.HasPrefix(text, "No resources found") || strings.Contains(text, "\nitems: []\n") {
		return
	}
	r.logf("%s: kubectl %s\n%s", cluster, strings.Join(args, " "), indent(text))
}
