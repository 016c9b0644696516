package console

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/console"
	"github.com/atoll-mcs/atoll/internal/doctor/gather"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
)

// TestShowsClusterset: services by clusters, with what clusters that are not read have published, and each change without a new request.
func TestShowsClusterset(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.register("c9") // no context is its own
	c1, c2 := w.members[0], w.members[1]
	w.create(w.broker, record("c1", "shop", "web", ""))
	w.create(c1, serviceImport("shop", "web", ""))
	w.create(c2, serviceImport("shop", "web", ""))
	w.create(c2, slice("shop", "web", "c1", 2, 1))
	_, p := w.open(c1, c2)
	p.until("the service is shown", func() bool { return p.services["shop/web"].Imports["c2"].Ready == 2 && p.overview.Broker.Read })
	if got := p.services["shop/web"]; got.Exports["c1"].Status != "Published" || got.Imports["c2"].Standby != 1 || got.Imports["c2"].All != 3 || got.Imports["c2"].From["c1"] != [2]int{2, 1} {
		t.Errorf("%+v", got)
	}
	if c := p.cluster("c9"); c.State != "unread" || c.Member == nil || c.Context != "" {
		t.Errorf("a cluster without a context: %+v", c)
	}
	if c := p.cluster("c1"); c.State != "read" || c.Member.State != report.MemberReady || c.Context != "context-c1" || p.overview.Clusterset != clusterset {
		t.Errorf("a cluster: %+v", c)
	}

	second := record("c9", "shop", "web", "ClientIP")
	w.create(w.broker, second)
	p.until("an export of another cluster, and the conflict", func() bool {
		row := p.services["shop/web"]
		return row.Exports["c9"].Status == "Published" && len(row.Conflicts) == 1 && row.Conflicts[0].Property == "session affinity" && row.Conflicts[0].From == "c1"
	})
	w.delete(w.broker, second)
	p.until("the conflict is gone", func() bool { return len(p.services["shop/web"].Conflicts) == 0 })

	w.create(c1, serviceImport("shop", "db", "no <b>address</b> is free"))
	p.until("a new import", func() bool { return p.services["shop/db"].Imports["c1"].Problem == report.Error })
	if cell := p.services["shop/db"].Imports["c1"]; cell.Status != "NoClustersetIP" || cell.Message != "no <b>address</b> is free" {
		t.Errorf("%+v", cell)
	}
	w.delete(c1, serviceImport("shop", "db", ""))
	p.until("an import is gone", func() bool { _, has := p.services["shop/db"]; return !has })
}

// TestClusterGoesAway: what a cluster had stays, as old; the others go on.
func TestClusterGoesAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	c1, c2 := w.members[0], w.members[1]
	w.create(c1, serviceImport("shop", "web", ""))
	w.create(c2, serviceImport("shop", "web", ""))
	_, p := w.open(c1, c2)
	p.until("both are read", func() bool { return len(p.services["shop/web"].Imports) == 2 && p.overview.Broker.Read })
	c1.gone.Store(true)
	p.until("c1 does not answer", func() bool { return p.cluster("c1").Error != "" })
	if c := p.cluster("c1"); c.Answered == 0 || c.State != "read" || !strings.Contains(c.Error, "no route to c1") {
		t.Errorf("%+v", c)
	}
	w.create(c2, slice("shop", "web", "c1", 1, 0))
	p.until("c2 goes on", func() bool { return p.services["shop/web"].Imports["c2"].Ready == 1 })
	if _, kept := p.services["shop/web"].Imports["c1"]; !kept {
		t.Error("what c1 had is gone")
	}
	w.broker.gone.Store(true)
	p.until("the broker does not answer", func() bool { return p.overview.Broker.Error != "" })
	c1.gone.Store(false)
	p.until("c1 answers again", func() bool { return p.cluster("c1").Error == "" })
}

// TestCredentialsExpire: while the broker does not know the credentials, what it had stays, as old.
func TestCredentialsExpire(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.register("c9")
	w.create(w.broker, record("c9", "shop", "web", ""))
	_, p := w.open(w.members[0])
	isShown := func() bool {
		return p.services["shop/web"].Exports["c9"].Status == "Published" && p.overview.Broker.Read
	}
	p.until("the broker's records are read", isShown)
	// Lists may hear it before the question whether the API server answers.
	w.broker.unknown.Store(ptr.To("/leases"))
	p.until("a list is refused", func() bool {
		if w.broker.said.Load() == 0 {
			w.renew("c1") // for an event
		}
		return w.broker.said.Load() > 0 && p.overview.At > 0
	})
	w.broker.unknown.Store(ptr.To(""))
	p.until("the credentials are no longer accepted", func() bool {
		if !isShown() {
			t.Errorf("the rows are away: %+v", p.overview.Broker)
		}
		return p.overview.Broker.Error != ""
	})
	if !isShown() || !p.overview.Broker.Read || !strings.Contains(p.overview.Broker.Error, "credentials") {
		t.Errorf("%+v, shown: %v", p.overview.Broker, isShown())
	}
	w.broker.unknown.Store(nil)
	p.until("a new connection is complete", func() bool {
		if !isShown() {
			t.Error("the rows were away")
		}
		return p.overview.Broker.Error == ""
	})
	w.create(w.broker, record("c9", "shop", "db", ""))
	p.until("it is current", func() bool { return p.services["shop/db"].Exports["c9"].Status == "Published" })
}

// TestContextsOfOtherClusters: a cluster of another clusterset, and a second context of a cluster, say so, and mix nothing.
func TestContextsOfOtherClusters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	c1 := w.members[0]
	again := &cluster{id: "again", api: c1.api, client: c1.client}
	other, none, bare := newCluster(t, "elsewhere", 8), newCluster(t, "none", 9), newCluster(t, "bare", 10)
	bare.bare.Store(true)
	w.property(other, aboutv1beta1.ClusterIDProperty, "c1")
	w.property(other, aboutv1beta1.ClustersetProperty, "another")
	w.create(c1, serviceImport("shop", "web", ""))
	w.create(other, serviceImport("shop", "web", "a problem elsewhere"))
	w.create(other, serviceImport("shop", "db", ""))
	_, p := w.open(c1, again, other, none, bare)
	why := func(context string) string { return p.cluster("context context-" + context).Outside }
	p.until("all are known", func() bool {
		return p.cluster("c1").State == "read" && why("again") != "" && why("elsewhere") != "" && why("none") != "" && why("bare") != "" && p.services["shop/web"].Imports["c1"].Status == "Ready"
	})
	for context, want := range map[string]string{"again": "has the id c1, as context context-c1 has", "elsewhere": "cluster c1 of clusterset another", "none": "not a member", "bare": "not a member"} {
		if !strings.Contains(why(context), want) {
			t.Errorf("%s: %q", context, why(context))
		}
	}
	if unread := p.cluster("context context-bare").Unread; len(unread) > 0 {
		t.Errorf("it seems to lack something: %v", unread)
	}
	p.until("only c1 is shown", func() bool { return len(p.services) == 1 && len(p.services["shop/web"].Imports) == 1 })
}

// TestMemberOfAnotherVersion: what a member writes that this program does not know is shown as it is, and the rest works.
func TestMemberOfAnotherVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	future := &brokerv1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Namespace: clusterset, Name: "c9"}}
	future.Spec.AgentVersion, future.Spec.AdvertiseMode, future.Spec.Isolation = "v99.0.0", "Teleport", "<b>Perfect</b>"
	w.create(w.broker, future)
	odd := record("c9", "shop", "web", "")
	odd.Spec.Type, odd.Spec.SessionAffinity = "Quantum", "Entangled"
	w.create(w.broker, odd)
	w.create(w.broker, record("c1", "shop", "web", ""))
	broken := serviceImport("shop", "web", "")
	broken.Spec.Type, broken.Status.Conditions[0].Reason = "Quantum", "Superposition"
	w.create(w.members[0], broken)
	_, p := w.open(w.members...)
	p.until("all is shown", func() bool {
		row := p.services["shop/web"]
		return len(row.Exports) == 2 && row.Imports["c1"].Status != "" && len(row.Conflicts) > 0
	})
	if m := p.cluster("c9").Member; m.Agent != "v99.0.0" || m.Advertises != "Teleport" || m.State != report.MemberJoining {
		t.Errorf("%+v", m)
	}
}

// TestNotAllCanBeRead: a notice says what is missing, and the rest works.
func TestNotAllCanBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	c1, c2, c3 := w.members[0], w.members[1], w.members[2]
	c2.refused.Store(ptr.To("/endpointslices"))
	c3.gone.Store(true)
	for _, c := range []*cluster{c1, c2} {
		w.create(c, serviceImport("shop", "web", ""))
		w.create(c, slice("shop", "web", "c3", 1, 0))
	}
	_, p := w.open(c1, c2, c3)
	p.until("the rest is shown", func() bool {
		return p.services["shop/web"].Imports["c1"].Ready == 1 && p.services["shop/web"].Imports["c2"].Unknown && len(p.services["shop/web"].Imports) == 2 && len(p.cluster("c2").Unread) == 1 && p.cluster("context context-c3").State == "unread"
	})
	if c := p.cluster("c2"); c.State != "read" || !strings.Contains(c.Unread[0], "listing EndpointSlices") || !strings.Contains(c.Unread[0], "not yours") {
		t.Errorf("%+v", c)
	}
	c3.gone.Store(false)
	p.until("c3 is read", func() bool { return p.cluster("c3").State == "read" })
}

// TestBrokerInPart: what concerns a kind that the broker refuses is unknown, and the rest is shown. Without permissions, policies or
// records, no record says what it means.
func TestBrokerInPart(t *testing.T) {
	t.Parallel()
	for refused, want := range map[string]struct{ records, members bool }{
		"/leases": {records: true}, "/memberclusters": {records: true}, "/configmaps": {}, "/servicepolicies": {}, "/exportedservices": {},
	} {
		t.Run(refused, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.register("c9")
			w.create(w.broker, record("c9", "shop", "web", ""))
			w.create(w.members[0], serviceImport("shop", "db", ""))
			w.broker.refused.Store(&refused)
			_, p := w.open(w.members[0])
			p.until("the rest is shown", func() bool {
				return len(p.overview.Broker.Unread) == 1 && p.services["shop/db"].Imports["c1"].Status != "" && p.overview.Broker.Read == want.records &&
					(p.services["shop/web"].Exports["c9"].Status == "Published") == want.records
			})
			if o := p.overview; o.Broker.Members != want.members || p.cluster("c1").Member != nil || o.Broker.Error != "" || !strings.Contains(o.Broker.Unread[0], "not yours") {
				t.Errorf("%+v", o)
			}
			w.broker.refused.Store(nil)
			p.until("all is shown", func() bool {
				return len(p.overview.Broker.Unread) == 0 && p.overview.Broker.Members && p.cluster("c9").Member != nil && p.services["shop/web"].Exports["c9"].Status == "Published"
			})
		})
	}
}

// TestCurrentContext: a context without a name is one of the command line.
func TestCurrentContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	_, p := w.open(&cluster{api: w.members[0].api, client: w.members[0].client})
	p.until("it is read", func() bool { return p.cluster("c1").State == "read" && p.overview.Broker.Read })
	if c := p.cluster("c1"); !c.Named || c.Context != "" {
		t.Errorf("%+v", c)
	}
}

// TestNothingHangs: an API server that accepts connections and answers nothing delays neither the others, nor a snapshot, nor the end.
func TestNothingHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		w.members[0].hangs.Store(true)
		w.create(w.members[1], serviceImport("shop", "web", ""))
		targets, broker := w.targets(w.members...)
		began := time.Now() // in the test's own time
		var file bytes.Buffer
		if err := console.TakeSnapshot(t.Context(), targets, nil, broker, 30*time.Second, nil, &file); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("a snapshot takes %v", took)
		}
		if text := file.String(); !strings.Contains(text, `"shop/web"`) || !strings.Contains(text, `"read":true`) {
			t.Errorf("the snapshot lacks the other cluster, or the broker: %.1000s", text[strings.Index(text, `id="snapshot"`):])
		}
		broken := w.members[1]
		broken.hangs.Store(true)
		w.broker.hangs.Store(true)
		made, err := console.New(targets, nil, broker)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { made.Run(ctx); close(ended) }()
		<-time.After(time.Minute)
		cancel()
		began = time.Now()
		<-ended
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the end takes %v", took)
		}
	})
}

// TestRevoked: what may not be read any more is not shown as if it were current.
func TestRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	c1 := w.members[0]
	w.create(c1, serviceImport("shop", "web", ""))
	w.create(c1, slice("shop", "web", "c1", 1, 0))
	_, p := w.open(c1)
	p.until("all is read", func() bool {
		return p.services["shop/web"].Imports["c1"].Ready == 1 && len(p.cluster("c1").Unread) == 0
	})
	c1.refused.Store(ptr.To("/endpointslices"))
	c1.api.Restore(c1.api.Backup()) // ends the watches
	p.until("it may not be read", func() bool { return len(p.cluster("c1").Unread) == 1 && p.services["shop/web"].Imports["c1"].Unknown })
	c1.refused.Store(nil)
	p.until("it may be read again", func() bool { return len(p.cluster("c1").Unread) == 0 && !p.services["shop/web"].Imports["c1"].Unknown })
}

// TestHeartbeatsAreNoNews: heartbeats do not make the services again.
func TestHeartbeatsAreNoNews(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.create(w.members[0], serviceImport("shop", "web", ""))
	_, p := w.open(w.members...)
	p.until("it is read", func() bool { return p.services["shop/web"].Imports["c1"].Status == "Ready" && p.overview.Broker.Read })
	before := p.overview.At
	delete(p.services, "shop/web") // it comes again if it is made again
	p.until("the clusters are described again", func() bool {
		if p.overview.At == before {
			w.renew("c1")
		}
		return p.overview.At > before
	})
	if _, again := p.services["shop/web"]; again {
		t.Error("a heartbeat made a service again")
	}
}

// TestSnapshot: one file has everything, and nothing in it can become markup.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	evil := `</script><script>alert(1)</script><!--`
	w.create(w.members[0], serviceImport("shop", "web", evil))
	w.create(w.members[1], slice("shop", "web", "c1", 1, 0))
	w.members[1].refused.Store(ptr.To("/endpointslices"))
	made, _ := w.open(w.members...)
	var file bytes.Buffer
	if err := made.WriteSnapshot(t.Context(), patience, nil, &file); err != nil {
		t.Fatal(err)
	}
	text := file.String()
	for want, times := range map[string]int{"</script>": 2, "<script": 2, evil: 0, "alert(1)": 2, `"shop/web"`: 2, "src=": 0, "href=\"http": 0} {
		// The bundle of the pages contains neither.
		if got := strings.Count(text, want); got != times {
			t.Errorf("%q is there %d times, want %d", want, got, times)
		}
	}
	if !strings.Contains(text, "script-src 'sha256-") || strings.Contains(text, "unsafe") {
		t.Error("no strict policy")
	}
}

// TestSnapshotWithoutSecrets: what looks like a secret is not in the file of `atoll gather`, and a service may be called like one.
func TestSnapshotWithoutSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.create(w.members[0], serviceImport("shop", "api-token", "password: hunter2"))
	made, _ := w.open(w.members...)
	var file bytes.Buffer
	if err := made.WriteSnapshot(t.Context(), patience, gather.Redact, &file); err != nil {
		t.Fatal(err)
	}
	_, data, _ := strings.Cut(file.String(), `id="snapshot">`)
	data, _, _ = strings.Cut(data, "</script>")
	var page struct{ Services map[string]console.Row }
	if err := json.Unmarshal([]byte(data), &page); err != nil || page.Services["shop/api-token"].ID != "shop/api-token" {
		t.Errorf("%v: %+v", err, page)
	}
	if strings.Contains(data, "hunter2") {
		t.Error("the file has a password")
	}
}
