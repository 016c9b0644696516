package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/planes"
)

// fakeLab answers commands with a function and records the calls.
type fakeLab struct {
	shape  Shape
	answer func(cluster string, command Command) Result
	hang   bool // kubectl delete never ends

	mu    sync.Mutex
	calls []string
}

// saying returns a lab whose programs all print this text.
func saying(text string) *fakeLab {
	return &fakeLab{shape: DefaultShape, answer: func(string, Command) Result { return Result{Stdout: text} }}
}

func (f *fakeLab) note(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, strings.TrimSpace(fmt.Sprintf(format, args...)))
	return nil
}

// called counts the calls with a prefix.
func (f *fakeLab) called(prefix string) (n int) {
	for _, c := range f.calls {
		if strings.HasPrefix(c, prefix) {
			n++
		}
	}
	return n
}

// order reports whether the calls were made in this order.
func (f *fakeLab) order(prefixes ...string) bool {
	from := 0
	for _, prefix := range prefixes {
		i := slices.IndexFunc(f.calls[from:], func(c string) bool { return strings.HasPrefix(c, prefix) })
		if i < 0 {
			return false
		}
		from += i + 1
	}
	return true
}

func (f *fakeLab) Shape() Shape { return f.shape }

func (f *fakeLab) Do(ctx context.Context, cluster string, command Command) Result {
	_ = f.note("%s %s %s %s", cluster, command.Program, strings.Join(command.Args, " "), command.Stdin)
	if f.hang && command.Args[0] == "delete" {
		<-ctx.Done()
		return Result{Err: errors.New("signal: killed")}
	}
	return f.answer(cluster, command)
}

func (f *fakeLab) CreateNamespace(ctx context.Context, cluster, namespace string) error {
	return (&Run{lab: f}).kubectl(ctx, cluster, "create", "namespace", namespace).Err
}

func (f *fakeLab) DeleteNamespace(ctx context.Context, cluster, namespace string) error {
	return (&Run{lab: f}).kubectl(ctx, cluster, "delete", "namespace", namespace).Err
}

func (f *fakeLab) Cut(_ context.Context, a, b string) error      { return f.note("cut %s %s", a, b) }
func (f *fakeLab) Heal(_ context.Context, a, b string) error     { return f.note("heal %s %s", a, b) }
func (f *fakeLab) HealAll(context.Context) error                 { return f.note("heal all") }
func (f *fakeLab) Kill(_ context.Context, unit string) error     { return f.note("kill %s", unit) }
func (f *fakeLab) Start(_ context.Context, unit string) error    { return f.note("start %s", unit) }
func (f *fakeLab) Snapshot(_ context.Context, name string) error { return f.note("snapshot %s", name) }
func (f *fakeLab) Restore(_ context.Context, name string) error  { return f.note("restore %s", name) }
func (f *fakeLab) Wipe(context.Context) error                    { return f.note("wipe") }
func (f *fakeLab) Rename(_ context.Context, cluster, id string) error {
	return f.note("rename %s %s", cluster, id)
}

func (f *fakeLab) UseProxyMode(_ context.Context, cluster string, mode lab.ProxyMode) error {
	return f.note("proxy mode of %s: %s", cluster, mode)
}

func (f *fakeLab) Rejoin(_ context.Context, clusters ...string) error {
	return f.note("rejoin %s", strings.Join(clusters, ","))
}

// execute runs the script text in the lab, in a synctest bubble.
func execute(t *testing.T, lab Lab, text string) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		err = executeContext(t, t.Context(), lab, text)
	})
	return err
}

func executeContext(t *testing.T, ctx context.Context, lab Lab, text string) error {
	t.Helper()
	script, err := Parse("x.txtar", []byte(text))
	planes.NoError(t, err)
	going := &deletions{}
	return errors.Join(executeIn(ctx, script, lab, going, t.Logf), going.wait())
}

// fails checks that the script failed at the line, with the text in the error.
func fails(t *testing.T, err error, line int, want string) {
	t.Helper()
	var failure *Failure
	if !errors.As(err, &failure) {
		t.Fatalf("no failure but %v", err)
	}
	if failure.Line != line || !strings.Contains(failure.Err.Error(), want) {
		t.Errorf("line %d: %v; want line %d: %s", failure.Line, failure.Err, line, want)
	}
	if !strings.HasPrefix(err.Error(), fmt.Sprintf("x.txtar:%d: ", line)) {
		t.Errorf("the error does not begin with its place: %v", err)
	}
}

// answering returns a lab whose pods send these answers in turn, one per request.
func answering(pods ...string) *fakeLab {
	lab := saying("")
	next := 0
	lab.answer = func(_ string, command Command) Result {
		if command.Args[0] != "exec" {
			return Result{}
		}
		times := 0
		fmt.Sscan(command.Args[len(command.Args)-2], &times)
		var out strings.Builder
		for range times {
			cluster, pod, ok := strings.Cut(pods[next%len(pods)], "/")
			next++
			if !ok {
				fmt.Fprintf(&out, "failed: %s\n", cluster)
				continue
			}
			fmt.Fprintf(&out, "pod=%s cluster=%s node=%s-n1 remote=10.3.1.2:5 proto=http\n", pod, cluster, cluster)
		}
		return Result{Stdout: out.String()}
	}
	return lab
}

// failing returns a lab in which a kubectl command with this name fails.
func failing(name string, result Result) *fakeLab {
	lab := saying("")
	lab.answer = func(_ string, command Command) Result {
		if command.Args[0] == name {
			return result
		}
		return Result{}
	}
	return lab
}

// Each script succeeds, or fails at the right line with the right message.
func TestRunning(t *testing.T) {
	four := func() *fakeLab { return answering("c1/a", "c1/b", "c2/c", "c2/d") }
	two := func() *fakeLab { return answering("c1/a", "c2/a") }
	address, six := saying("10.102.0.9\n"), saying("fd00::1\n")
	six.shape.IPFamily = "ipv6,dual,dual"
	counted := saying("")
	counted.answer = func(cluster string, _ Command) Result {
		return map[string]Result{
			"c1": {Stdout: `{"kind":"List","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}},
				{"metadata":{"name":"c","annotations":{"atoll.dev/state":"Withdrawn"}}}]}`},
			"c3": {Err: errors.New("exit status 1"), Stderr: "connection refused"},
		}[cluster]
	}
	conditions := saying(`{"status":{"conditions":[
		{"type":"Valid","status":"True","reason":"Valid"},
		{"type":"Ready","status":"False","reason":"Pending","message":"broker unreachable"}]}}`)
	dig := saying(";; ->>HEADER<<- opcode: QUERY, status: NOERROR, id: 1\n;; flags: qr aa; QUERY: 1\n;; ANSWER SECTION:\n" +
		"web.x. 5 IN A 10.102.0.9\nweb.x. 5 IN A 10.102.0.8\n")
	hanging := saying("")
	hanging.hang = true // kubectl delete waits for finalizers for ever
	const (
		eight     = "http c3/shop/client http://web.shop.svc.clusterset.local x8\n"
		one       = "http c2/shop/client http://x"
		get       = "on c2 kubectl get serviceimport web\n"
		condition = "condition c1 serviceexport shop/web "
	)
	for _, test := range []struct {
		lab    *fakeLab
		script string
		line   int    // line that fails; 0 for none
		want   string // text of the failure
		took   time.Duration
		calls  []string // expected calls, in order
	}{
		{lab: four(), script: eight + "backends c1=2 c2=2"},
		{lab: four(), script: eight + "backends c2=2 c1=2"},
		{lab: four(), script: eight + "backends c1=3 c2=2", line: 2, want: "c1=2 c2=2 instead of c1=3 c2=2"},
		{lab: four(), script: eight + "backends c1=1 c2=2", line: 2, want: "c1=2 c2=2 instead of c1=1 c2=2"},
		{lab: four(), script: eight + "backends c1=2", line: 2, want: "c1=2 c2=2 instead of c1=2"},
		{lab: four(), script: eight + "backends c1=2 c2=2 c3=1", line: 2, want: "instead of c1=2 c2=2 c3=1"},
		{lab: four(), script: eight + "! backends c1=4"},
		{lab: four(), script: eight + "! backends c1=2 c2=2", line: 2, want: "succeeded, but must fail"},
		{lab: four(), script: eight + "backends none", line: 2, want: "instead of none"},
		{lab: two(), script: eight + "backends c1=1 c2=1"}, // pods with the same name
		{lab: two(), script: eight + "answered-by c2/a c1/a"},
		{lab: two(), script: eight + "answered-by c1/a", line: 2, want: "c1/a c2/a instead of c1/a"},

		{lab: answering("c1/a", "connection refused"), script: one + " x4", line: 1, want: "2 of 4 requests have no answer: failed: connection refused"},
		{lab: answering("timeout"), script: "! " + one + "\nbackends none"},
		{lab: answering("c1/a"), script: "! " + one, line: 1, want: "succeeded, but must fail"},

		{lab: answering("connection refused", "connection refused", "c1/a"), script: "eventually " + one + " then backends c1=1"},
		// Each attempt repeats the whole chain, not only its last call. A negation inside the
		// chain applies to each attempt.
		{lab: answering("c1/a", "c2/b"), script: "eventually " + one + " then backends c2=1"},
		{lab: answering("c1/a", "c1/a", "gone"), script: "eventually ! " + one},
		{
			lab: answering("c1/a"), script: "eventually 40s " + one + " then backends c2=1",
			line: 1, want: "backends: c1=1 instead of c2=1 (1 answers)", took: 40 * time.Second,
		},
		{lab: answering("c1/a"), script: "steadily 5s " + one + " then backends c1=1", took: 5 * time.Second},
		{
			lab: answering("c1/a", "c1/a", "c1/a", "c2/b"), script: "steadily 5s " + one + " then backends c1=1",
			line: 1, want: "did not hold after 0.6 s, attempt 4",
		},
		{lab: answering("lost", "c1/a"), script: "steadily 5s ! " + one, line: 1, want: "succeeded, but must fail"},

		// A mistake in the script must not pass as an expected failure, and must not be retried
		// until the timeout.
		{lab: saying(""), script: "! equal $MISSING b", line: 1, want: "$MISSING is not set"},
		{lab: saying(""), script: "eventually 1m ! http $WHERE http://x", line: 1, want: "$WHERE is not set"},
		{lab: saying(""), script: "save P\n! http $P http://x", line: 2, want: "is not CLUSTER/NS/POD"},

		{lab: hanging, script: "on c1 delete pod a", line: 1, want: "no line may take longer than 2m0s", took: 120 * time.Second},
		{lab: hanging, script: "! on c1 delete pod a", line: 1, want: "no line may take longer than 2m0s", took: 120 * time.Second},
		{lab: hanging, script: "steadily 3s ! on c1 delete pod a", line: 1, want: "no line may take longer than 2m3s", took: 123 * time.Second},
		{lab: hanging, script: "eventually 5s ! on c1 delete pod a", line: 1, want: "gave up after 5s and 1 attempts", took: 5 * time.Second},

		{lab: address, script: get + "save IP\nequal $IP 10.102.0.9\nstdout ^$IP'$'\n! stdout ^0.102\nequal a$IP a10.102.0.9"},
		{lab: address, script: get + "save IP\nequal $IP_HOST 10.102.0.9\nequal $LAB_CLUSTERS c1,c2,c3\nequal $LAB_A$LAB_FAMILIES A1"},
		{lab: six, script: get + "save IP\nequal http://$IP_HOST:8080/ http://[fd00::1]:8080/\nequal $LAB_A$LAB_FAMILIES AAAA1"},
		{lab: address, script: get + "lines ^10.102"},
		{lab: address, script: get + "lines ^10.103", line: 2, want: "does not match ^10.103"},
		{lab: address, script: get + "stdout ^10.103", line: 2, want: "no line matches ^10.103"},
		{lab: address, script: get + "save IP\nequal $IP 10.102.0.8", line: 3, want: `"10.102.0.9" and "10.102.0.8"`},
		{lab: address, script: "equal '' ''", line: 1, want: `"" and ""`},

		{
			lab: counted, script: "count c1 pods -n shop -l app=web 2\ncount c2 pods -n shop 0",
			calls: []string{"c1 kubectl get --ignore-not-found -o json pods -n shop -l app=web"},
		},
		{lab: counted, script: "count c1 pods -n shop 3", line: 1, want: "c1: 2 instead of 3"},
		{lab: counted, script: "count c1,c2 pods -n shop 2", line: 1, want: "c2: 0 instead of 2"},
		{lab: counted, script: "count c3 pods -n shop 0", line: 1, want: "c3: exit status 1: connection refused"}, // a failed request does not count as zero

		{lab: conditions, script: condition + "Valid=True\n" + condition + "Valid=True/Valid\n" + condition + "Ready=False/Pending"},
		{lab: conditions, script: "! " + condition + "Ready=True"},
		{lab: conditions, script: condition + "Ready=True", line: 1, want: "Ready=False/Pending (broker unreachable) instead of Ready=True"},
		{lab: conditions, script: condition + "Valid=True/NoService", line: 1, want: "Valid=True/Valid () instead of Valid=True/NoService"},
		{lab: conditions, script: condition + "Conflict=False", line: 1, want: "no condition Conflict"},

		{
			lab: saying("done\n"), script: "on c1,c2 apply web.yaml -n shop\nlines ^done\n-- web.yaml --\nkind: Service\n",
			calls: []string{"c1 kubectl apply -f - -n shop kind: Service", "c2 kubectl apply -f - -n shop kind: Service"},
		},
		{
			lab: saying(""), script: "on all export shop/web\non c3 unexport shop/web\non broker kubectl get pods",
			calls: []string{
				"c1 kubectl apply -f - ---\napiVersion: multicluster.x-k8s.io/v1beta1\nkind: ServiceExport\nmetadata: {namespace: \"shop\", name: \"web\"}",
				"c2 kubectl apply", "c3 kubectl apply",
				"c3 kubectl delete -f - ---\napiVersion: multicluster.x-k8s.io/v1beta1\nkind: ServiceExport\nmetadata: {namespace: \"shop\", name: \"web\"}", "broker kubectl get pods",
			},
		},
		{lab: failing("get", Result{Stderr: "forbidden\n", Err: errors.New("exit status 1")}), script: get, line: 1, want: "on: c2: exit status 1: forbidden"},

		{lab: dig, script: "dig c2 web.x A\nstdout '^status NOERROR$'\nstdout '^web.x. A 10.102.0.8$'\n! stdout NXDOMAIN", calls: []string{"c2 dig -q web.x -t A"}},
		{lab: saying(";; no servers could be reached\n"), script: "dig c2 web.x TXT", line: 1, want: "no answer: ;; no servers could be reached"},

		{
			lab: failing("fail", Result{Err: errors.New("no")}), script: "snapshot early\nrestore early\nrename c2 other\nproxy-mode c3 iptables\nwipe\nrejoin c2\non c1 kubectl fail",
			line: 7, want: "c1: no",
			calls: []string{"snapshot early", "restore early", "rename c2 other", "proxy mode of c3: iptables", "wipe", "rejoin c2", "c1 kubectl fail", "rename c2 c2", "rejoin c1,c3", "proxy mode of c3:"},
		},
	} {
		t.Run(test.script, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := executeContext(t, t.Context(), test.lab, test.script+"\n")
				if took := time.Since(began).Truncate(time.Second); took != test.took {
					t.Errorf("took %v instead of %v", took, test.took)
				}
				if test.line > 0 {
					fails(t, err, test.line, test.want)
				} else if err != nil {
					t.Error(err)
				}
				if !test.lab.order(test.calls...) {
					t.Errorf("calls:\n%s", strings.Join(test.lab.calls, "\n"))
				}
			})
		})
	}
}

// The limit interrupts an attempt that hangs. The reported reason is that of the previous
// attempt. A long wait logs its reason at intervals.
func TestEventuallyEndsAttemptThatHangs(t *testing.T) {
	for name, test := range map[string]struct{ hangs, said int }{"hangs": {2, 1}, "is waited for": {1000, 3}} {
		synctest.Test(t, func(t *testing.T) {
			attempts, said := 0, 0
			p := repeat{until: true, limit: time.Minute}
			err := p.run(t.Context(), func(ctx context.Context) error {
				if attempts++; attempts < test.hangs {
					return errors.New("the true reason")
				}
				<-ctx.Done()
				return errors.New("killed")
			}, func(time.Duration, error) { said++ })
			if err == nil || !strings.Contains(err.Error(), "the true reason") || said != test.said {
				t.Errorf("%s: %v, said %d times", name, err, said)
			}
		})
	}
}

// After an interruption of the test run, a negated call has not succeeded.
func TestInterruptionIsNoExpectedFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	lab := saying("")
	lab.answer = func(string, Command) Result {
		cancel()
		return Result{Err: errors.New("signal: killed")}
	}
	fails(t, executeContext(t, ctx, lab, "! on c1 kubectl get pods\n"), 1, "context canceled")
}

func TestCleaningUp(t *testing.T) {
	lab := failing("fail", Result{Stdout: "said", Err: errors.New("no")})
	err := execute(t, lab, "namespace shop in c1\ncut c1 c2\nkill c1/kube-proxy-n2\nkill c1/apiserver\nkill c1/etcd\nkill c2/dns\nstart c2/dns\non c1 kubectl fail\n")
	fails(t, err, 8, "c1: no")
	if !strings.Contains(err.Error(), "last output:\n\tsaid") {
		t.Errorf("the last output is missing: %v", err)
	}
	for prefix, want := range map[string]int{
		"start c2/dns": 1, // and not again
		// The namespace is deleted before and after the script, in all clusters, because an
		// interrupted run may have left it in any cluster.
		"c1 kubectl delete namespace shop": 2, "c2 kubectl delete namespace shop": 2, "c3 kubectl delete namespace shop": 2,
		"c1 kubectl create namespace shop": 1, "c2 kubectl create": 0,
		"c2 kubectl get pods,services -n shop": 1, // the report lists the namespace's objects
	} {
		if n := lab.called(prefix); n != want {
			t.Errorf("%s: %d times instead of %d", prefix, n, want)
		}
	}
	if !lab.order("c1 kubectl fail", "heal all", "start c1/etcd", "start c1/apiserver", "start c1/kube-proxy-n2", "c1 kubectl delete namespace shop") {
		t.Errorf("calls: %s", strings.Join(lab.calls, "\n"))
	}
}

func TestCleaningUpThatFailsIsAFailure(t *testing.T) {
	lab := saying("")
	deletions := 0
	lab.answer = func(cluster string, command Command) Result {
		if cluster == "c2" && command.Args[0] == "delete" {
			if deletions++; deletions == 2 {
				return Result{Err: errors.New("timed out"), Stderr: "a finalizer"}
			}
		}
		return Result{}
	}
	err := execute(t, lab, "namespace shop\n")
	if err == nil || err.Error() != "deleting the namespaces of x: c2: timed out: a finalizer" {
		t.Errorf("%v", err)
	}
}

// Requests are lost if a client has sent them since the fault began and got no answer.
func TestLostRequests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures")
	t.Setenv(figuresVariable, file)
	script := "requests c1/shop/client c2/shop/client\nfault 'something'\nover\nconverged\nlost 3\n"
	log := func(results ...string) string {
		lines := "1.5 ok long ago\n1.6 failed long ago\nnoise\n"
		for _, result := range results {
			lines += fmt.Sprintf("%.6f %s\n", float64(time.Now().Add(time.Hour).UnixMicro())/1e6, result)
		}
		return lines
	}
	planes.NoError(t, execute(t, saying(log("ok pod=web-0", "ok pod=web-1", "ok pod=web-0")), script))
	fails(t, execute(t, saying(log("ok pod=web-0", "failed timeout", "failed timeout")), script), 5, "4 of 6 requests had no answer")
	fails(t, execute(t, saying(log()), script), 5, "has not sent any request")
	rows, err := os.ReadFile(file)
	if want := "| something | 6 | 0 | 0.0 s |\n| something | 6 | 4 | 0.0 s |\n"; err != nil || string(rows) != want {
		t.Errorf("figures %q, %v", rows, err)
	}
}

// After batter the unit runs, and half of the Services are exported.
func TestBatter(t *testing.T) {
	lab := saying("")
	planes.NoError(t, execute(t, lab, "batter c1/agent shop x2\n"))
	if !lab.order("kill c1/agent", "start c1/agent", "kill c1/agent", "start c1/agent") {
		t.Errorf("happened: %v", lab.calls)
	}
}

func TestSummary(t *testing.T) {
	header := ";; ->>HEADER<<- opcode: QUERY, status: NOERROR, id: 1\n;; flags: qr aa rd; QUERY: 1, ANSWER: 2\n\n"
	soa := "\n;; AUTHORITY SECTION:\nx. 5 IN SOA ns.dns.x. hostmaster.x. 17 7200 1800 86400 5\n"
	var many string
	for range manyRecords + 1 {
		many += "a.x. 5 IN A 10.0.0.1\n"
	}
	for name, test := range map[string]struct{ output, want string }{
		"answers in order": {
			header + ";; ANSWER SECTION:\na.x. 5 IN SRV 0 50 80 b.x.\na.x. 5 IN SRV 0 50 80 a.x.\n\n;; ADDITIONAL SECTION:\na.x. 5 IN A 10.0.0.1\nb.x. 5 IN A 10.0.0.2\n",
			"SRV 0 50 80 a.x., SRV 0 50 80 b.x., +2 addresses",
		},
		"no data":       {header + soa, "no data, SOA with minimum 5"},
		"no SOA":        {header, "no data"},
		"no name":       {";; status: NXDOMAIN, id: 1\n;; flags: qr; QUERY: 1\n" + soa, "NXDOMAIN, not authoritative, SOA with minimum 5"},
		"a serial":      {header + ";; ANSWER SECTION:\nx. 5 IN SOA ns.dns.x. hostmaster.x. 17 7200 1800 86400 5\n", "SOA ns.dns.x. hostmaster.x."},
		"many":          {header + ";; ANSWER SECTION:\n" + many, "13 × A"},
		"too many":      {";; status: NOERROR, id: 1\n;; flags: qr aa tc rd; QUERY: 1\n;; ANSWER SECTION:\n" + many, "as many A as fit, truncated"},
		"a long TTL":    {header + ";; ANSWER SECTION:\nx. 60 IN TXT a\nx. 5 IN TXT b\n", "TXT a, TXT b, TTL 60"},
		"not an answer": {"", ""},
	} {
		answer, err := parseDig(test.output)
		if (err != nil) != (test.want == "") {
			t.Errorf("%s: %v", name, err)
		} else if got := answer.summary(); err == nil && got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

func TestShorten(t *testing.T) {
	r := &Run{env: map[string]string{"POD": "10.0.0.1", "POD_HOST": "10.0.0.1", "VIP": "fd00::1", "OTHER": "x"}}
	short, long := r.shorten("ns.svc.x")
	for from, want := range map[string]string{
		"SRV 0 1 80 10-0-0-1.c1.web.ns.svc.x.": "SRV 0 1 80 pod-with-dashes.c1.web",
		"A 10.0.0.1":                           "A POD", "AAAA fd00::1": "AAAA VIP", "NS ns.dns.x.": "NS ns.dns.x.",
	} {
		if got := short(from); got != want {
			t.Errorf("%s: got %s, want %s", from, got, want)
		}
	}
	for from, want := range map[string]string{
		"pod-with-dashes.c1.web A": "10-0-0-1.c1.web A", "pod-reversed. PTR": "1.0.0.10.in-addr.arpa. PTR", "web A": "web A",
	} {
		if got := long(from); got != want {
			t.Errorf("%s: got %s, want %s", from, got, want)
		}
	}
}
