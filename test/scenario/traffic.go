package scenario

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

func trafficVerbs() []Verb {
	return []Verb{
		requestVerb("http", "URL", httpClient, "sends N requests (default 1) from the pod, each over a new connection; all must be answered; stores the answers"),
		requestVerb("tcp", "HOST:PORT", tcpClient, "like `http`, with TCP connections"),
		requestVerb("udp", "HOST:PORT", udpClient, "like `http`, with UDP datagrams, each from a new port"),
		{
			Name: "backends", Args: "CLUSTER=N… | none", Min: 1, Max: -1,
			Summary: "checks that the stored answers came from exactly these clusters, from N different pods in each",
			Check:   checkBackends,
			Run:     func(_ context.Context, r *Run, args []string) error { return r.backends(args) },
		},
		{
			Name: "answered-by", Args: "CLUSTER/POD…", Min: 1, Max: -1,
			Summary: "checks that the stored answers came from exactly these pods",
			Run:     func(_ context.Context, r *Run, args []string) error { return r.same(sets.New(r.answers...), args) },
		},
	}
}

func requestVerb(name, target, client, summary string) Verb {
	return Verb{
		Name: name, Args: "CLUSTER/NS/POD " + target + " [xN]", Min: 2, Max: 3, Summary: summary,
		Check: checkTraffic,
		Run:   func(ctx context.Context, r *Run, args []string) error { return r.traffic(ctx, client, args) },
	}
}

// answerPattern matches the response of `atoll lab echo`.
var answerPattern = regexp.MustCompile(`\bpod=(\S+) cluster=(\S+) node=.*`)

// parseAnswers returns the backends that answered, as CLUSTER/POD, from the clients' output.
func parseAnswers(output string) (answers []string) {
	for _, match := range answerPattern.FindAllStringSubmatch(output, -1) {
		answers = append(answers, match[2]+"/"+match[1])
	}
	return answers
}

// The clients run in the pod as `sh -c CLIENT sh TARGET N` and print a line for each request:
// the answer, or "failed: …". HTTP requests come from ports FIRST, FIRST+1 and so on: `sh -c
// CLIENT sh TARGET N FIRST`.
const (
	httpClient = `i=0; while [ $i -lt "$2" ]; do i=$((i+1)); ` +
		`a=$(curl -sS --fail --globoff --noproxy '*' --max-time 3 --local-port $(($3+i))-32000 "$1" 2>&1) && echo "$a" || echo "failed: $a"; done`
	tcpClient = `i=0; while [ $i -lt "$2" ]; do i=$((i+1)); ` +
		`a=$(echo hello | socat -t3 - "TCP:$1,connect-timeout=3" 2>&1) && [ -n "$a" ] && echo "$a" || echo "failed: $a"; done`
	// UDP has no end of a response, so each client waits for a second. All clients wait in
	// parallel.
	udpClient = `i=0; while [ $i -lt "$2" ]; do i=$((i+1)); ` +
		`{ a=$(echo hello | socat -t1 - "UDP:$1" 2>&1) && [ -n "$a" ] && echo "$a" || echo "failed: $a"; } & done; wait`
)

// A podRef is CLUSTER/NS/POD; POD may be deploy/NAME.
type podRef struct{ cluster, namespace, pod string }

func parsePod(text string) (podRef, error) {
	parts := strings.SplitN(text, "/", 3)
	if len(parts) != 3 || slices.Contains(parts, "") {
		return podRef{}, usageErrorf("%q is not CLUSTER/NS/POD", text)
	}
	return podRef{parts[0], parts[1], parts[2]}, nil
}

func (s *Script) checkPod(text string) error {
	if text == unknown {
		return nil
	}
	pod, err := parsePod(text)
	if err != nil {
		return err
	}
	return s.checkCluster(pod.cluster, false)
}

func checkTraffic(s *Script, negate bool, args []string) error {
	if err := s.checkPod(args[0]); err != nil {
		return err
	}
	if len(args) < 3 {
		return nil
	}
	if negate {
		return errors.New("of several requests some may fail: negate one request, or say \"backends none\"")
	}
	_, err := parseTimes(args[2])
	return err
}

func parseTimes(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(text, "x"))
	if text != unknown && (err != nil || n < 1 || n > 1000 || !strings.HasPrefix(text, "x")) {
		return 0, usageErrorf("%q is not x1 to x1000", text)
	}
	return n, nil
}

// Requests of a script use distinct source ports. Connection tracking pins a source port to the
// backend of its last connection, for two minutes after the last packet of an unanswered
// connection. With reused ports, the first attempts of an `eventually` at a deleted backend
// would make later requests fail.
const firstPort, sourcePorts = 12000, 18000

// traffic sends requests from a pod and stores the answers.
func (r *Run) traffic(ctx context.Context, client string, args []string) error {
	r.answers, r.output = nil, ""
	pod, err := parsePod(args[0])
	if err != nil {
		return err
	}
	times := 1
	if len(args) > 2 {
		if times, err = parseTimes(args[2]); err != nil {
			return err
		}
	}
	result := r.kubectl(ctx, pod.cluster, "exec", "-n", pod.namespace, pod.pod, "--",
		"sh", "-c", client, "sh", args[1], strconv.Itoa(times), strconv.Itoa(firstPort+r.requests%sourcePorts))
	r.requests += times
	r.output = result.text()
	r.answers = parseAnswers(result.Stdout)
	if result.Err != nil {
		return result.Err
	}
	if failed := times - len(r.answers); failed != 0 {
		return fmt.Errorf("%d of %d requests have no answer: %s", failed, times, firstFailure(r.output))
	}
	return nil
}

// firstFailure returns the first line that is not an answer.
func firstFailure(output string) string {
	for text := range strings.Lines(output) {
		if len(parseAnswers(text)) == 0 && strings.TrimSpace(text) != "" {
			return strings.TrimSpace(text)
		}
	}
	return "no output"
}

func checkBackends(s *Script, _ bool, args []string) error {
	if len(args) == 1 && args[0] == "none" {
		return nil
	}
	for _, arg := range args {
		cluster, count, ok := strings.Cut(arg, "=")
		if arg == unknown {
			continue
		}
		if n, err := strconv.Atoi(count); !ok || err != nil || n < 1 {
			return fmt.Errorf("%q is not CLUSTER=N; omit a cluster that must not answer", arg)
		}
		if err := s.checkCluster(cluster, false); err != nil {
			return err
		}
	}
	return nil
}

// backends compares the number of pods of each cluster that have answered.
func (r *Run) backends(want []string) error {
	counts := map[string]int{}
	for pod := range sets.New(r.answers...) {
		cluster, _, _ := strings.Cut(pod, "/")
		counts[cluster]++
	}
	got := sets.New[string]()
	for cluster, count := range counts {
		got.Insert(fmt.Sprintf("%s=%d", cluster, count))
	}
	return r.same(got, want)
}

func (r *Run) same(got sets.Set[string], want []string) error {
	if len(got) == 0 {
		got.Insert("none")
	}
	if wanted := sets.New(want...); !got.Equal(wanted) {
		return fmt.Errorf("%s instead of %s (%d answers)", strings.Join(sets.List(got), " "), strings.Join(sets.List(wanted), " "), len(r.answers))
	}
	return nil
}
