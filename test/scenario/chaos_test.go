package scenario

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/atoll-mcs/atoll/test/planes"
)

var (
	chaosFor   = flag.Duration("chaos", 0, "for how long TestChaos breaks a lab at random; 0 for not at all")
	chaosSeed  = flag.Uint64("seed", 1, "what TestChaos begins with")
	chaosCount = flag.Int("faults", 10, "how many faults TestChaos makes with one seed")
)

// TestChaos causes random faults of shared infrastructure and of Atoll, two at a time, while
// clients send requests. The backends stay alive, so no request may fail. The clusterset must
// converge within three minutes of the last fault.
func TestChaos(t *testing.T) {
	if *chaosFor == 0 {
		t.Skip("set -chaos to the duration of the test")
	}
	programs, remove, err := planes.Programs(t.Context())
	planes.NoError(t, err)
	defer remove()
	labs := &labs{name: fmt.Sprintf("%schaos%d", labPrefix, os.Getpid()), programs: programs}
	defer labs.down(t)
	for seed, end := *chaosSeed, time.Now().Add(*chaosFor); time.Now().Before(end) && !t.Failed(); seed++ {
		script := chaosScript(t, seed)
		runForm(t.Context(), t, labs, form{name: script.Name, script: script, shape: script.Shape})
	}
}

// chaosScript returns a script of faults for a seed.
func chaosScript(t *testing.T, seed uint64) *Script {
	t.Helper()
	manifests, err := filepath.Abs("testdata/manifests")
	planes.NoError(t, err)
	file := filepath.Join(t.TempDir(), fmt.Sprintf("chaos-%d.txtar", seed))
	c := &chaos{rand: rand.New(rand.NewPCG(seed, 0)), namespace: fmt.Sprintf("chaos-%d", seed)}
	planes.NoError(t, os.Symlink(manifests, filepath.Join(filepath.Dir(file), "manifests")))
	planes.NoError(t, os.WriteFile(file, []byte(c.script(*chaosCount)), 0o600))
	script, err := ParseFile(file)
	if err != nil {
		t.Fatalf("%v in\n%s", err, c.text.String())
	}
	return script
}

// chaos writes a script.
type chaos struct {
	rand      *rand.Rand
	namespace string
	text      strings.Builder
	extra     bool // whether c1 exports the service extra
}

func (c *chaos) line(format string, args ...any) {
	fmt.Fprintf(&c.text, format+"\n", args...)
}

// fault holds the script lines of a fault.
type fault struct {
	begin, end string
	alone      bool   // cannot overlap with another fault
	silences   string // cannot overlap with a fault that silences the same cluster
}

// fault returns a random fault.
func (c *chaos) fault() fault {
	any, other := []string{"c1", "c2", "c3"}[c.rand.IntN(3)], []string{"c1", "c3"}[c.rand.IntN(2)]
	rest := map[string]string{"c1": "c2,c3", "c2": "c1,c3", "c3": "c1,c2"}
	all := []fault{
		{begin: "kill " + any + "/agent", end: "start " + any + "/agent", silences: any},
		{begin: fmt.Sprintf("on %s kubectl rollout restart deployment/atoll-agent -n atoll-system", any), silences: any},
		{begin: "cut " + any + " broker", end: "heal " + any + " broker", silences: any},
		{begin: "kill broker/apiserver", end: "start broker/apiserver", silences: "broker"},
		{begin: "kill broker/etcd", end: "start broker/etcd", silences: "broker"},
		{begin: "kill " + other + "/apiserver", end: "start " + other + "/apiserver", silences: other},
		{begin: "on broker delete exportedservices --all -n atoll-clusterset", silences: "broker"},
		{begin: "on broker delete endpointslices --all -n atoll-clusterset", silences: "broker"},
		{begin: "on broker kubectl delete leases --all -n atoll-clusterset", silences: "broker"},
		{begin: "on broker kubectl delete memberclusters --all -n atoll-clusterset", silences: "broker"},
		{begin: "on broker delete crd exportedservices.broker.atoll.dev", end: "on broker atoll broker deploy", silences: "broker"},
		{begin: fmt.Sprintf("on c1 atoll drain c1 -n %s", c.namespace), end: fmt.Sprintf("on c1 atoll undrain c1 -n %s", c.namespace), silences: "c1"},
		{begin: "on c3 atoll drain c3", end: "on c3 atoll undrain c3", silences: "c3"},
		c.silence(),
		{begin: restore, alone: true},
		{begin: "wipe", end: "rejoin " + any + "\n" + c.pause(3) + "\nrejoin " + rest[any], alone: true},
	}
	return all[c.rand.IntN(len(all))]
}

// silence returns the fault that c1 does not answer c2, which prefers c3 meanwhile.
func (c *chaos) silence() fault {
	return fault{
		begin: fmt.Sprintf("on c2 apply prefer-c3.yaml -n %s\neventually http c2/%[1]s/client http://web.%[1]s.svc.clusterset.local x20 then backends c3=1\ncut c2 c1\n%s", c.namespace, c.pause(25)),
		end:   fmt.Sprintf("heal c2 c1\non c2 kubectl delete trafficpolicy prefer-c3 -n %s", c.namespace), alone: true,
	}
}

// restore is the fault that restores c1 from a backup after c1 changed its exports.
const restore = "restore"

// toggle exports the service extra from c1, or unexports it.
func (c *chaos) toggle() string {
	if c.extra = !c.extra; c.extra {
		return fmt.Sprintf("on c1 export %s/extra", c.namespace)
	}
	return fmt.Sprintf("on c1 unexport %s/extra", c.namespace)
}

// pause waits some seconds, during which the service must answer every request.
func (c *chaos) pause(seconds int) string {
	return fmt.Sprintf("steadily %ds http c2/%s/client http://web.%[2]s.svc.clusterset.local x3", seconds, c.namespace)
}

func (c *chaos) script(faults int) string {
	ns := c.namespace
	c.line("# lab: clusters=3\n# Faults at random.\n")
	c.line("namespace %s\non c1,c3 apply one-pod.yaml -n %[1]s\non c2 apply client.yaml -n %[1]s", ns)
	c.line("on c3 kubectl expose deployment web --name=alone --port=80 --target-port=8080 -n %s", ns)
	c.line("on c1 kubectl expose deployment web --name=extra --port=80 --target-port=8080 -n %s", ns)
	c.line("on c1,c3 kubectl rollout status deployment/web -n %s --timeout=60s\non c2 kubectl wait pod/client -n %[1]s --for=condition=Ready --timeout=60s", ns)
	c.line("on c1,c3 export %s/web\non c3 export %[1]s/alone", ns)
	c.line("eventually http c2/%s/client http://web.%[1]s.svc.clusterset.local x20 then backends c1=1 c3=1", ns)
	c.line("eventually http c2/%s/client http://alone.%[1]s.svc.clusterset.local x3 then backends c3=1", ns)
	c.line("on c2 apply send-requests.yaml web-traffic.yaml alone-traffic.yaml -n %s\non c2 kubectl wait pod/web-traffic pod/alone-traffic -n %[1]s --for=condition=Ready --timeout=60s", ns)
	for n := range faults {
		some := []fault{c.fault()}
		if second := c.fault(); c.rand.IntN(2) == 0 && !some[0].alone && !second.alone && second.silences != some[0].silences {
			some = append(some, second)
		}
		for _, f := range some {
			if f.begin == restore {
				f.begin = fmt.Sprintf("snapshot s%d\n%s\n%s\nrestore s%[1]d", n, c.toggle(), c.pause(25))
			}
			c.line("%s", f.begin)
			c.line("%s", c.pause(1+c.rand.IntN(15)))
		}
		for _, f := range some {
			if f.end != "" {
				c.line("%s", f.end)
			}
		}
		if c.rand.IntN(2) == 0 {
			c.line("eventually 60s %s", c.toggle())
		}
		c.line("%s", c.pause(1+c.rand.IntN(20)))
	}
	imports := 2
	if c.extra {
		imports++
	}
	c.line("\n# The clusterset has converged.")
	c.line("eventually 180s count broker exportedservices -n atoll-clusterset -l atoll.dev/service-namespace=%s %d", ns, imports+1)
	c.line("eventually 180s count c1,c2,c3 serviceimports -n %s %d", ns, imports)
	c.line("eventually 60s count c2 endpointslices -n %s -l multicluster.kubernetes.io/source-cluster %d", ns, imports+1)
	c.line("eventually 300s http c2/%s/client http://web.%[1]s.svc.clusterset.local x20 then backends c1=1 c3=1", ns) // a silence ends after a while
	for _, service := range []string{"web", "alone"} {
		c.line("on c2 kubectl exec %s-traffic -n %s -- sh -c 'cat /tmp/lost; echo lost: $(wc -l < /tmp/lost) of $(wc -l < /tmp/answers)'", service, ns)
		c.line("stdout '^lost: 0 of \\d{3,}$'")
	}
	c.line(`-- prefer-c3.yaml --
apiVersion: traffic.atoll.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: prefer-c3}
spec:
  targetRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: web}]
  clusterSelectors:
  - propertySelector: {matchProperties: {cluster.clusterset.k8s.io: c3}}`)
	for _, service := range []string{"web", "alone"} {
		c.line(`-- %s-traffic.yaml --
apiVersion: v1
kind: Pod
metadata: {name: %[1]s-traffic}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: traffic
    image: debian
    command: [sh, /requests/send, %[1]s.%[2]s.svc.clusterset.local, "80"]
    volumeMounts: [{name: requests, mountPath: /requests}]
  volumes: [{name: requests, configMap: {name: requests}}]`, service, ns)
	}
	return c.text.String()
}

// The script of every seed can be parsed.
func TestChaosScripts(t *testing.T) {
	for seed := range uint64(50) {
		chaosScript(t, seed)
	}
}
