package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// execute runs the script text in the lab with time that passes at once.
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
	if err != nil {
		t.Fatal(err)
	}
	return Execute(ctx, script, lab, t.Logf)
}

// fails checks that the script fails at the line, with the text in the error.
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

// answering is a lab whose pods get these answers in turn, one for each request.
func answering(pods ...string) *fakeLab {
	lab := newFake()
	next := 0
	lab.kubectl = func(_ string, command Command) Result {
		if command.Args[0] != "exec" {
			return Result{}
		}
		times := 0
		fmt.Sscan(command.Args[len(command.Args)-1], &times)
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

func TestBackends(t *testing.T) {
	const http = "http c3/shop/client http://web.shop.svc.clusterset.local x8\n"
	four := []string{"c1/a", "c1/b", "c2/c", "c2/d"}
	for name, test := range map[string]struct {
		pods []string
		line string
		want string // empty: passes
	}{
		"right":               {four, "backends c1=2 c2=2", ""},
		"other order":         {four, "backends c2=2 c1=2", ""},
		"a pod too few":       {four, "backends c1=3 c2=2", "c1=2 c2=2 instead of c1=3 c2=2"},
		"a pod too many":      {four, "backends c1=1 c2=2", "c1=2 c2=2 instead of c1=1 c2=2"},
		"cluster not named":   {four, "backends c1=2", "c1=2 c2=2 instead of c1=2"},
		"cluster not there":   {four, "backends c1=2 c2=2 c3=1", "instead of c1=2 c2=2 c3=1"},
		"must fail and does":  {four, "! backends c1=4", ""},
		"must fail and holds": {four, "! backends c1=2 c2=2", "succeeded, but must fail"},
		"same name, two":      {[]string{"c1/a", "c2/a"}, "backends c1=1 c2=1", ""},
		"none but some":       {four, "backends none", "instead of none"},
		"pods by name":        {[]string{"c1/a", "c2/a"}, "answered-by c2/a c1/a", ""},
		"wrong pod":           {[]string{"c1/a", "c2/a"}, "answered-by c1/a", "c1/a c2/a instead of c1/a"},
	} {
		t.Run(name, func(t *testing.T) {
			err := execute(t, answering(test.pods...), http+test.line+"\n")
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			fails(t, err, 2, test.want)
		})
	}
}

func TestUnansweredRequests(t *testing.T) {
	lab := answering("c1/a", "connection refused")
	fails(t, execute(t, lab, "http c3/shop/client http://x x4\n"), 1, "2 of 4 requests have no answer: failed: connection refused")
	if err := execute(t, answering("timeout"), "! http c3/shop/client http://x\nbackends none\n"); err != nil {
		t.Error(err)
	}
	fails(t, execute(t, answering("c1/a"), "! http c3/shop/client http://x\n"), 1, "succeeded, but must fail")
}

func TestEventually(t *testing.T) {
	three := func() Lab { return answering("connection refused", "connection refused", "c1/a") }
	if err := execute(t, three(), "eventually http c2/shop/client http://x then backends c1=1\n"); err != nil {
		t.Error(err)
	}
	// The whole chain is repeated, not only its last part.
	if err := execute(t, answering("c1/a", "c2/b"), "eventually http c2/shop/client http://x then backends c2=1\n"); err != nil {
		t.Error(err)
	}
	// A negation inside counts for each attempt.
	if err := execute(t, answering("c1/a", "c1/a", "gone"), "eventually ! http c2/shop/client http://x\n"); err != nil {
		t.Error(err)
	}
}

func TestEventuallyGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := executeContext(t, t.Context(), answering("c1/a"), "eventually 40s http c2/shop/client http://x then backends c2=1\n")
		fails(t, err, 1, "gave up after 40s and ")
		fails(t, err, 1, "backends: c1=1 instead of c2=1 (1 answers)")
		if waited := time.Since(began); waited < 40*time.Second || waited > 41*time.Second {
			t.Errorf("it tried for %v", waited)
		}
		if !strings.Contains(err.Error(), "last output:\n\tpod=a cluster=c1") {
			t.Errorf("the last output is missing: %v", err)
		}
	})
}

// An attempt that hangs is ended by the limit, and the reason given is the one
// of the attempt before it.
func TestEventuallyEndsAttemptThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		p := repeat{until: true, limit: time.Minute}
		err := p.run(t.Context(), func(ctx context.Context) error {
			if attempts++; attempts == 1 {
				return errors.New("the true reason")
			}
			<-ctx.Done()
			return errors.New("killed")
		}, func(time.Duration, error) {})
		if err == nil || !strings.Contains(err.Error(), "the true reason") {
			t.Errorf("%v", err)
		}
	})
}

func TestEventuallySaysThatItStillWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []time.Duration
		p := repeat{until: true, limit: time.Minute}
		err := p.run(t.Context(), func(context.Context) error { return errors.New("not yet") },
			func(waited time.Duration, _ error) { said = append(said, waited) })
		if err == nil || len(said) != 3 {
			t.Errorf("%v, said at %v", err, said)
		}
	})
}

func TestSteadily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := executeContext(t, t.Context(), answering("c1/a"), "steadily 5s http c2/shop/client http://x then backends c1=1\n"); err != nil {
			t.Error(err)
		}
		if held := time.Since(began); held < 5*time.Second {
			t.Errorf("it looked for only %v", held)
		}
	})
	lab := answering("c1/a", "c1/a", "c1/a", "c2/b")
	fails(t, execute(t, lab, "steadily 5s http c2/shop/client http://x then backends c1=1\n"), 1, "did not hold after 0.6 s, attempt 4")
	fails(t, execute(t, answering("lost", "c1/a"), "steadily 5s ! http c2/shop/client http://x\n"), 1, "succeeded, but must fail")
}

// A mistake in the script must neither pass as an expected failure nor be tried
// again until the time is over.
func TestMistakesAreNotFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		fails(t, executeContext(t, t.Context(), newFake(), "! equal $MISSING b\n"), 1, "$MISSING is not set")
		fails(t, executeContext(t, t.Context(), newFake(), "eventually 1m ! http $WHERE http://x\n"), 1, "$WHERE is not set")
		fails(t, executeContext(t, t.Context(), newFake(), "save P\n! http $P http://x\n"), 2, "is not CLUSTER/NS/POD")
		if time.Since(began) != 0 {
			t.Error("it waited")
		}
	})
}

// When the test run is interrupted, a negated call that was stopped has not
// come true.
func TestInterruptionIsNoExpectedFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	lab := newFake()
	lab.kubectl = func(string, Command) Result {
		cancel()
		return Result{Err: errors.New("signal: killed")}
	}
	err := executeContext(t, ctx, lab, "! on c1 kubectl get pods\n")
	fails(t, err, 1, "context canceled")
}

// kubectl delete, for one, waits for finalizers for ever.
func TestLineThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab := newFake()
		lab.hang = true
		fails(t, executeContext(t, t.Context(), lab, "on c1 delete pod a\n"), 1, "no line may take longer than 2m0s")
		fails(t, executeContext(t, t.Context(), lab, "! on c1 delete pod a\n"), 1, "no line may take longer than 2m0s")
		fails(t, executeContext(t, t.Context(), lab, "steadily 3s ! on c1 delete pod a\n"), 1, "no line may take longer than 2m3s")
		fails(t, executeContext(t, t.Context(), lab, "eventually 5s ! on c1 delete pod a\n"), 1, "gave up after 5s and 1 attempts")
	})
}

func TestStdoutAndVariables(t *testing.T) {
	lab := newFake()
	lab.kubectl = func(string, Command) Result { return Result{Stdout: "10.102.0.9\n"} }
	get := "on c2 kubectl get serviceimport web\n"
	if err := execute(t, lab, get+"save IP\nequal $IP 10.102.0.9\nstdout ^$IP'$'\n! stdout ^0.102\nequal a$IP a10.102.0.9\n"); err != nil {
		t.Error(err)
	}
	if err := execute(t, lab, get+"save IP\nequal $IP_HOST 10.102.0.9\nequal $LAB_CLUSTERS c1,c2,c3\nequal $LAB_A$LAB_FAMILIES A1\n"); err != nil {
		t.Error(err)
	}
	six := newFake()
	six.shape.IPFamily = "ipv6,dual,dual"
	six.kubectl = func(string, Command) Result { return Result{Stdout: "fd00::1\n"} }
	if err := execute(t, six, get+"save IP\nequal http://$IP_HOST:8080/ http://[fd00::1]:8080/\nequal $LAB_A$LAB_FAMILIES AAAA1\n"); err != nil {
		t.Error(err)
	}
	if err := execute(t, lab, get+"lines ^10.102\n"); err != nil {
		t.Fatal(err)
	}
	fails(t, execute(t, lab, get+"lines ^10.103\n"), 2, "does not match ^10.103")
	fails(t, execute(t, lab, get+"stdout ^10.103\n"), 2, "no line matches ^10.103")
	fails(t, execute(t, lab, get+"save IP\nequal $IP 10.102.0.8\n"), 3, `"10.102.0.9" and "10.102.0.8"`)
	fails(t, execute(t, lab, "equal '' ''\n"), 1, `"" and ""`)
}

func TestCount(t *testing.T) {
	lab := newFake()
	lab.kubectl = func(cluster string, command Command) Result {
		if cluster == "c3" {
			return Result{Err: errors.New("exit status 1"), Stderr: "connection refused"}
		}
		if cluster == "c2" {
			return Result{}
		}
		return Result{Stdout: `{"kind":"List","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}},
			{"metadata":{"name":"c","annotations":{"atoll.dev/state":"Withdrawn"}}}]}`}
	}
	if err := execute(t, lab, "count c1 pods -n shop -l app=web 2\ncount c2 pods -n shop 0\n"); err != nil {
		t.Error(err)
	}
	if lab.called("c1 kubectl get --ignore-not-found -o json pods -n shop -l app=web") != 1 {
		t.Errorf("calls: %v", lab.calls)
	}
	fails(t, execute(t, lab, "count c1 pods -n shop 3\n"), 1, "c1: 2 instead of 3")
	fails(t, execute(t, lab, "count c1,c2 pods -n shop 2\n"), 1, "c2: 0 instead of 2")
	// No answer is not "none".
	fails(t, execute(t, lab, "count c3 pods -n shop 0\n"), 1, "c3: exit status 1: connection refused")
}

func TestCondition(t *testing.T) {
	lab := newFake()
	lab.kubectl = func(string, Command) Result {
		return Result{Stdout: `{"status":{"conditions":[
			{"type":"Valid","status":"True","reason":"Valid"},
			{"type":"Ready","status":"False","reason":"Pending","message":"broker unreachable"}]}}`}
	}
	const prefix = "condition c1 serviceexport shop/web "
	if err := execute(t, lab, prefix+"Valid=True\n"+prefix+"Valid=True/Valid\n"+prefix+"Ready=False/Pending\n! "+prefix+"Ready=True\n"); err != nil {
		t.Error(err)
	}
	fails(t, execute(t, lab, prefix+"Ready=True\n"), 1, "Ready=False/Pending (broker unreachable) instead of Ready=True")
	fails(t, execute(t, lab, prefix+"Valid=True/NoService\n"), 1, "Valid=True/Valid () instead of Valid=True/NoService")
	fails(t, execute(t, lab, prefix+"Conflict=False\n"), 1, "no condition Conflict")
}

func TestOn(t *testing.T) {
	lab := newFake()
	var stdin string
	lab.kubectl = func(_ string, command Command) Result {
		if command.Args[0] == "apply" {
			stdin = command.Stdin
		}
		return Result{Stdout: "done\n"}
	}
	if err := execute(t, lab, "on c1,c2 apply web.yaml -n shop\n-- web.yaml --\nkind: Service\n"); err != nil {
		t.Error(err)
	}
	if lab.called("c1 kubectl apply -f - -n shop") != 1 || lab.called("c2 kubectl apply -f - -n shop") != 1 || stdin != "kind: Service\n" {
		t.Errorf("calls %v, input %q", lab.calls, stdin)
	}
	if err := execute(t, lab, "on all export shop/web\non c3 unexport shop/web\non broker kubectl get pods\n"); err != nil {
		t.Error(err)
	}
	if !strings.Contains(stdin, "kind: ServiceExport") || !strings.Contains(stdin, `namespace: "shop", name: "web"`) {
		t.Errorf("exported %s", stdin)
	}
	if !lab.order("c1 kubectl apply", "c2 kubectl apply", "c3 kubectl apply", "c3 kubectl delete serviceexport web -n shop", "broker kubectl get pods") {
		t.Errorf("calls: %v", lab.calls)
	}
	lab.kubectl = func(string, Command) Result {
		return Result{Stderr: "forbidden\n", Err: errors.New("exit status 1")}
	}
	fails(t, execute(t, lab, "on c1 kubectl get pods\n"), 1, "on: c1: exit status 1: forbidden")
}

func TestDig(t *testing.T) {
	lab := newFake()
	lab.exec = func(_ string, args []string) Result {
		if !slices.Contains(args, "A") {
			return Result{Stdout: ";; no servers could be reached\n"}
		}
		return Result{Stdout: ";; Got answer:\n;; ->>HEADER<<- opcode: QUERY, status: NOERROR, id: 1\n;; flags: qr aa; QUERY: 1\n;; ANSWER SECTION:\n" +
			"web.shop.svc.clusterset.local. 5 IN A 10.102.0.9\nweb.shop.svc.clusterset.local. 5 IN A 10.102.0.8\n"}
	}
	const name = "web.shop.svc.clusterset.local"
	if err := execute(t, lab, "dig c2 "+name+" A\nstdout '^status NOERROR$'\nstdout '^"+name+". A 10.102.0.8$'\n! stdout NXDOMAIN\n"); err != nil {
		t.Error(err)
	}
	if lab.called("c2 exec dig -q ") != 1 {
		t.Errorf("calls: %v", lab.calls)
	}
	fails(t, execute(t, lab, "dig c2 "+name+" TXT\n"), 1, "no answer: ;; no servers could be reached")
}

func TestCleaningUp(t *testing.T) {
	lab := newFake()
	lab.kubectl = func(_ string, command Command) Result {
		if command.Args[0] == "fail" {
			return Result{Err: errors.New("no")}
		}
		return Result{}
	}
	err := execute(t, lab, "namespace shop in c1\ncut c1 c2\nkill c1/kube-proxy-n2\nkill c1/apiserver\nkill c1/etcd\nkill c2/dns\nstart c2/dns\non c1 kubectl fail\n")
	fails(t, err, 8, "c1: no")
	if !lab.order("c1 kubectl fail", "heal", "start c1/etcd", "start c1/apiserver", "start c1/kube-proxy-n2", "c3 kubectl delete namespace shop") &&
		!lab.order("c1 kubectl fail", "heal", "start c1/etcd", "start c1/apiserver", "start c1/kube-proxy-n2", "c1 kubectl delete namespace shop") {
		t.Errorf("calls: %s", strings.Join(lab.calls, "\n"))
	}
	if lab.called("start c2/dns") != 1 {
		t.Error("started again what the script had started")
	}
	// Before and after: what an interrupted run left must go too, in clusters
	// where the script did not make it.
	for _, cluster := range []string{"c1", "c2", "c3"} {
		if n := lab.called(cluster + " kubectl delete namespace shop"); n != 2 {
			t.Errorf("%s: namespace deleted %d times", cluster, n)
		}
	}
	if lab.called("c1 kubectl create namespace shop") != 1 || lab.called("c2 kubectl create") != 0 {
		t.Error("namespace made in the wrong clusters")
	}
	if lab.called("c2 kubectl get pods,services -n shop") != 1 {
		t.Error("no report of what the clusters held")
	}
}

func TestCleaningUpAfterAWipe(t *testing.T) {
	lab := newFake()
	lab.kubectl = func(_ string, command Command) Result {
		if command.Args[0] == "fail" {
			return Result{Err: errors.New("no")}
		}
		return Result{}
	}
	err := execute(t, lab, "snapshot early\nrestore early\nrename c2 other\nwipe\nrejoin c2\non c1 kubectl fail\n")
	fails(t, err, 6, "c1: no")
	if !lab.order("snapshot early", "restore early", "rename c2 other", "wipe", "rejoin c2", "c1 kubectl fail", "rename c2 c2", "rejoin c1,c3") {
		t.Errorf("calls: %s", strings.Join(lab.calls, "\n"))
	}
}

func TestCleaningUpThatFailsIsAFailure(t *testing.T) {
	lab := newFake()
	deletions := 0
	lab.kubectl = func(cluster string, command Command) Result {
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
