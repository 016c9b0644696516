package podrunner

import (
	"encoding/json"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/lab/podrunner/internal/container"
	"github.com/atoll-mcs/atoll/lab/podrunner/internal/logfile"
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, t := range texts {
		all = append(all, netip.MustParsePrefix(t))
	}
	return all
}

func TestAddresses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "n1")
	ranges := prefixes("10.1.2.0/24", "fd00:10:1:2::/64")
	pool, err := newAddresses(ranges, file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"10.1.2.1", "fd00:10:1:2::1"}, addressStrings(pool.gateways())); diff != "" {
		t.Error(diff)
	}
	number, addrs, err := pool.take()
	if diff := cmp.Diff([]string{"10.1.2.2", "fd00:10:1:2::2"}, addressStrings(addrs)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	pool.release(number)
	pool, err = newAddresses(ranges, file) // another runner
	if err != nil {
		t.Fatal(err)
	}
	if _, addrs, err = pool.take(); err != nil || addrs[0].String() != "10.1.2.3" {
		t.Errorf("another runner takes %v, %v", addrs, err)
	}
	if _, err := newAddresses(prefixes("10.1.2.0/31"), file); err == nil {
		t.Error("a range without room was accepted")
	}
}

// TestAddressesAreUnique: whatever is taken and released, no two Pods share an
// address, none has the gateway's, and what was released rests a while.
func TestAddressesAreUnique(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ranges := prefixes("10.1.0.240/28", "fd00::/64")
		pool, err := newAddresses(ranges, filepath.Join(t.TempDir(), "n"))
		if err != nil {
			rt.Fatal(err)
		}
		const room = 13 // .242 to .254
		type lease struct {
			number uint32
			addr   netip.Addr
		}
		var used []lease
		var released netip.Addr // the latest
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			if len(used) > 0 && rapid.Bool().Draw(rt, "release") {
				i := rapid.IntRange(0, len(used)-1).Draw(rt, "which")
				pool.release(used[i].number)
				released = used[i].addr
				used = slices.Delete(used, i, i+1)
				continue
			}
			number, addrs, err := pool.take()
			if len(used) == room {
				if err == nil {
					rt.Fatalf("took %v of a full range", addrs)
				}
				continue
			}
			if err != nil {
				rt.Fatal(err)
			}
			a := addrs[0]
			if slices.ContainsFunc(used, func(l lease) bool { return l.addr == a }) || !ranges[0].Contains(a) || !ranges[1].Contains(addrs[1]) ||
				a == netip.MustParseAddr("10.1.0.241") || a == netip.MustParseAddr("10.1.0.255") {
				rt.Fatalf("took %v", addrs)
			}
			if a == released && len(used) < room-1 {
				rt.Fatalf("took %v, which was just released", a)
			}
			used, released = append(used, lease{number, a}), netip.Addr{}
		}
	})
}

func TestStatusPatch(t *testing.T) {
	condition := func(kind, status string) corev1.PodCondition {
		return corev1.PodCondition{Type: corev1.PodConditionType(kind), Status: corev1.ConditionStatus(status)}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Status: corev1.PodStatus{
		Phase: "Running", QOSClass: "BestEffort", PodIP: "10.0.0.2", PodIPs: []corev1.PodIP{{IP: "10.0.0.2"}},
		Conditions: []corev1.PodCondition{condition("PodScheduled", "True"), condition("Ready", "True"), condition("x/gate", "True")},
	}}
	same := pod.Status.DeepCopy()
	same.QOSClass = ""
	// Of others' conditions a runner may know old states.
	same.Conditions = []corev1.PodCondition{condition("Ready", "True"), condition("x/gate", "False"), condition("x/gone", "True")}
	if patch, err := statusPatch(pod, same); patch != nil || err != nil {
		t.Errorf("nothing to write, but %s, %v", patch, err)
	}
	other := same.DeepCopy()
	other.Conditions[0].Status = "False"
	other.Conditions = append(other.Conditions, condition("Initialized", "True"))
	patch, err := statusPatch(pod, other)
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(patch, &got); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal([]byte(`{"metadata":{"uid":"u"},"status":{
"$setElementOrder/conditions":[{"type":"PodScheduled"},{"type":"Ready"},{"type":"x/gate"},{"type":"Initialized"}],
"conditions":[{"type":"Ready","status":"False"},{"type":"Initialized","status":"True","lastProbeTime":null,"lastTransitionTime":null}]}}`), &want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLogOptions(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	two := int64(2)
	for query, want := range map[string]*logfile.Options{
		"":                                 {},
		"follow=true&timestamps=true":      {Follow: true, Timestamps: true},
		"tailLines=2&limitBytes=7":         {Tail: &two, Limit: 7},
		"sinceSeconds=5":                   {Since: now.Add(-5 * time.Second)},
		"sinceTime=2026-01-02T03:00:00Z":   {Since: now.Truncate(time.Hour)},
		"stream=Stderr":                    {Stream: "stderr"},
		"stream=All":                       {},
		"tailLines=-1":                     nil,
		"limitBytes=x":                     nil,
		"sinceTime=yesterday":              nil,
		"sinceSeconds=9999999999999999999": nil,
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		got, err := logOptions(values, now)
		if want == nil {
			if err == nil {
				t.Errorf("%s was accepted", query)
			}
			continue
		}
		if diff := cmp.Diff(*want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", query, err, diff)
		}
	}
}

func TestUser(t *testing.T) {
	id := func(n int64) *int64 { return &n }
	for name, tc := range map[string]struct {
		pod  *corev1.PodSecurityContext
		own  *corev1.SecurityContext
		want *container.User
	}{
		"root":             {nil, nil, nil},
		"nothing said":     {&corev1.PodSecurityContext{}, &corev1.SecurityContext{}, nil},
		"the pod's":        {&corev1.PodSecurityContext{RunAsUser: id(5), FSGroup: id(7), SupplementalGroups: []int64{6}}, nil, &container.User{UID: 5, Groups: []uint32{6, 7}}},
		"the container's":  {&corev1.PodSecurityContext{RunAsUser: id(5), RunAsGroup: id(6)}, &corev1.SecurityContext{RunAsUser: id(8)}, &container.User{UID: 8, GID: 6}},
		"only a new group": {nil, &corev1.SecurityContext{RunAsGroup: id(8)}, &container.User{GID: 8}},
	} {
		got := user(&corev1.Pod{Spec: corev1.PodSpec{SecurityContext: tc.pod}}, &corev1.Container{SecurityContext: tc.own})
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestNodeConditionKeepsItsHeartbeat(t *testing.T) {
	start := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "r"}
	var s corev1.NodeStatus
	setNodeCondition(&s, ready, start)
	before := s.DeepCopy()
	setNodeCondition(&s, ready, metav1.NewTime(start.Add(heartbeat-time.Second)))
	if diff := cmp.Diff(before, &s); diff != "" {
		t.Errorf("within the heartbeat's time: %s", diff)
	}
	setNodeCondition(&s, ready, metav1.NewTime(start.Add(heartbeat)))
	if got := s.Conditions[0]; got.LastHeartbeatTime.Equal(&start) || !got.LastTransitionTime.Equal(&start) {
		t.Errorf("later: %+v", got)
	}
	unknown := s.DeepCopy() // as the node lifecycle controller writes it
	unknown.Conditions[0].Status, unknown.Conditions[0].Reason = corev1.ConditionUnknown, "NodeStatusUnknown"
	setNodeCondition(unknown, ready, metav1.NewTime(start.Add(2*heartbeat)))
	if got := unknown.Conditions[0]; got.Status != corev1.ConditionTrue || got.LastTransitionTime.Equal(&start) {
		t.Errorf("after a silence: %+v", got)
	}
}

func TestSubPath(t *testing.T) {
	dir := t.TempDir()
	if got, err := subPath(dir, "a/b", true); err != nil || got != filepath.Join(dir, "a/b") {
		t.Errorf("made: %s, %v", got, err)
	}
	if _, err := subPath(dir, "absent", false); err == nil {
		t.Error("an absent file of a made volume was accepted")
	}
	if got, err := subPath(dir, "../../etc", true); err != nil || got != filepath.Join(dir, "etc") {
		t.Errorf("dots: %s, %v", got, err)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	if got, err := subPath(dir, "out/passwd", true); err == nil {
		t.Errorf("a link led out to %s", got)
	}
}

func TestMailbox(t *testing.T) {
	m := newMailbox()
	var got []int
	m.post(func() {
		got = append(got, 1)
		m.post(func() { got = append(got, 3) })
	})
	m.post(func() { got = append(got, 2) })
	m.post(nil)
	<-m.wake
	m.run()
	if diff := cmp.Diff([]int{1, 2, 3}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEarliest(t *testing.T) {
	var zero time.Time
	a := time.Unix(1, 0)
	b := time.Unix(2, 0)
	for _, tc := range [][3]time.Time{{zero, zero, zero}, {a, zero, a}, {zero, a, a}, {a, b, a}, {b, a, a}} {
		if got := earliest(tc[0], tc[1]); got != tc[2] {
			t.Errorf("%v: got %v", tc, got)
		}
	}
}
