package convergence

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	made "github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/simulation"
)

// mischief is a fault of API servers that every controller has to cope with.
type mischief struct {
	// refuse is the answer to the first write of each kind to each path, 0 for none.
	refuse int
	// late is how much later events of watches come than they happen, so that every cache is behind.
	late time.Duration

	next http.RoundTripper
	mu   *sync.Mutex
	seen map[string]bool
}

// RoundTrip implements http.RoundTripper.
func (m *mischief) RoundTrip(r *http.Request) (*http.Response, error) {
	write := r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/leases") && !strings.Contains(r.URL.Path, "/memberclusters") && !strings.Contains(r.URL.Path, "/events")
	if key := m.key(r); write && m.refuse > 0 && m.first(key) {
		return refusedBy(r, m.refuse), nil
	}
	response, err := m.next.RoundTrip(r)
	if err == nil && m.late > 0 && r.URL.Query().Get("watch") != "" {
		response.Body = newLateBody(response.Body, m.late)
	}
	return response, err
}

// key tells writes apart: creations by the object's name, which is not in the path.
func (m *mischief) key(r *http.Request) string {
	key := r.Method + " " + r.URL.Path
	if r.Method != http.MethodPost || r.Body == nil {
		return key
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(body, &object) == nil && object.Name != "" {
		return key + "/" + object.Name
	}
	return key + "/" + fmt.Sprint(len(body))
}

func (m *mischief) first(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen[key] {
		return false
	}
	m.seen[key] = true
	return true
}

// refusedBy is an API server's answer to a write.
func refusedBy(r *http.Request, code int) *http.Response {
	reason := map[int]metav1.StatusReason{http.StatusConflict: metav1.StatusReasonConflict, http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusInternalServerError: metav1.StatusReasonInternalError}[code]
	body, _ := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: "mischief",
	})
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// lateBody is a watch whose events come late, one as late as the other.
type lateBody struct {
	io.ReadCloser // what is read of the pipe to which the events are written late
	watch         io.Closer
}

func newLateBody(watch io.ReadCloser, by time.Duration) *lateBody {
	type piece struct {
		data []byte
		due  time.Time
	}
	pieces := make(chan piece, 1<<16)
	out, in := io.Pipe()
	go func() {
		defer close(pieces)
		for {
			data := make([]byte, 32<<10)
			n, err := watch.Read(data)
			if err != nil {
				return
			}
			pieces <- piece{data[:n], time.Now().Add(by)}
		}
	}()
	go func() {
		for p := range pieces {
			<-time.After(time.Until(p.due))
			if _, err := in.Write(p.data); err != nil {
				break
			}
		}
		_ = in.Close()
	}()
	return &lateBody{out, watch}
}

// Close ends the watch.
func (b *lateBody) Close() error {
	_ = b.ReadCloser.Close()
	return b.watch.Close()
}

// TestExportsCope has an export reach another cluster, and its changes, and its end, whatever API servers do: refuse the first write of every object,
// with a conflict or for a quota, fail at it, or let every cache be behind.
func TestExportsCope(t *testing.T) {
	for name, m := range map[string]mischief{
		"nothing":          {},
		"conflicts":        {refuse: http.StatusConflict},
		"refusals":         {refuse: http.StatusForbidden},
		"failures":         {refuse: http.StatusInternalServerError},
		"caches behind":    {late: 700 * time.Millisecond},
		"both, and behind": {refuse: http.StatusConflict, late: 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(name)
			inBubble(t, func(ctx context.Context) { cope(ctx, t, m) })
		})
	}
}

func cope(ctx context.Context, t *testing.T, m mischief) {
	b, admin, err := simulation.MemoryBroker()
	if err != nil {
		t.Fatal(err)
	}
	m.mu, m.seen = &sync.Mutex{}, map[string]bool{}
	members, err := simulation.JoinAll(ctx, b, 1, 2, simulation.Options{
		Args: []string{"--service-grace=1s"},
		Wrap: func(next http.RoundTripper) http.RoundTripper {
			wrapped := m
			wrapped.next = next
			return &wrapped
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := simulation.StopAll(members); err != nil {
			t.Error(err)
		}
		<-time.After(2 * m.late) // until the last events have come
	}()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const ns = "shop"
	from, to := members[0].Client, members[1].Client
	for _, c := range []client.Client{from, to} {
		do(c.Create(ctx, made.Namespace(ns)))
	}
	service, source, export := made.Service(ns, "web", 80), made.Slice(ns, "web-x", "web", "10.1.1.1"), made.Export(ns, "web")
	do(from.Create(ctx, service))
	do(from.Create(ctx, source))
	do(from.Create(ctx, export))
	for number, c := range map[string]client.Client{"the exporting cluster": from, "the other cluster": to} {
		within(t, "the import in "+number, func() string { return imported(ctx, c, "10.1.1.1") })
	}
	within(t, "the export's condition", func() string {
		do(from.Get(ctx, client.ObjectKeyFromObject(export), export))
		if !meta.IsStatusConditionTrue(export.Status.Conditions, "Ready") {
			return fmt.Sprint(export.Status.Conditions)
		}
		return ""
	})
	ip := addressOf(ctx, to)
	source.Endpoints[0].Addresses[0] = "10.1.1.2"
	do(from.Update(ctx, source))
	within(t, "another endpoint", func() string { return imported(ctx, to, "10.1.1.2") })
	do(to.Delete(ctx, &corev1.Service{ObjectMeta: made.Meta(ns, "web-clusterset")}))
	within(t, "the derived Service again", func() string { return imported(ctx, to, "10.1.1.2") })
	if now := addressOf(ctx, to); now != ip {
		t.Errorf("the clusterset IP was %s and is %s", ip, now)
	}
	do(from.Delete(ctx, export))
	within(t, "the end", func() string { return nothingOf(ctx, admin, from, to) })
}

// within waits in the bubble's time until a check has nothing to say.
func within(t *testing.T, what string, check func() string) {
	t.Helper()
	problem := ""
	for range 1200 { // 2 minutes
		if problem = check(); problem == "" {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	t.Fatalf("%s: %s", what, problem)
}

// imported says what is wrong with the import of shop/web, which should have one endpoint.
func imported(ctx context.Context, c client.Client, address string) string {
	imp := &mcsv1beta1.ServiceImport{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, imp); err != nil {
		return err.Error()
	}
	service := &corev1.Service{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web-clusterset"}, service); err != nil {
		return err.Error()
	}
	list := &discoveryv1.EndpointSliceList{}
	if err := c.List(ctx, list, client.InNamespace("shop"), client.MatchingLabels{discoveryv1.LabelServiceName: "web-clusterset"}); err != nil {
		return err.Error()
	}
	switch {
	case !slices.Equal(imp.Spec.IPs, service.Spec.ClusterIPs) || len(imp.Spec.IPs) == 0:
		return fmt.Sprintf("the import has %v, the derived Service %v", imp.Spec.IPs, service.Spec.ClusterIPs)
	case len(list.Items) != 1 || len(list.Items[0].Endpoints) != 1 || list.Items[0].Endpoints[0].Addresses[0] != address:
		return fmt.Sprintf("the slices are %v", list.Items)
	case !meta.IsStatusConditionTrue(imp.Status.Conditions, "Ready") || len(imp.Status.Clusters) != 1:
		return fmt.Sprintf("the status is %v", imp.Status)
	}
	return ""
}

func addressOf(ctx context.Context, c client.Client) string {
	imp := &mcsv1beta1.ServiceImport{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, imp); err != nil {
		return err.Error()
	}
	return strings.Join(imp.Spec.IPs, " ")
}

// nothingOf says what is left of an export that has ended.
func nothingOf(ctx context.Context, admin client.Client, clusters ...client.Client) string {
	lists := map[client.Client][]client.ObjectList{}
	for _, c := range clusters {
		lists[c] = []client.ObjectList{&mcsv1beta1.ServiceImportList{}, &discoveryv1.EndpointSliceList{}}
	}
	of := client.MatchingLabels{"multicluster.kubernetes.io/service-name": "web"}
	for c, kinds := range lists {
		imp := &mcsv1beta1.ServiceImport{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, imp); err == nil {
			return "there is an import"
		}
		for _, list := range kinds[1:] {
			if err := c.List(ctx, list, client.InNamespace("shop"), of); err != nil || meta.LenList(list) > 0 {
				return fmt.Sprintf("%d of %T, %v", meta.LenList(list), list, err)
			}
		}
	}
	published := &discoveryv1.EndpointSliceList{}
	if err := admin.List(ctx, published, client.InNamespace(broker.DefaultNamespace)); err != nil || len(published.Items) > 0 {
		return fmt.Sprintf("%d slices on the broker, %v", len(published.Items), err)
	}
	record := layout.Record(broker.DefaultNamespace, made.Record("sim1", "shop", "web").Spec)
	if err := admin.Get(ctx, client.ObjectKeyFromObject(record), record); err != nil || !layout.Withdrawn(record) {
		return fmt.Sprintf("the record is %v, %v", record.Annotations, err)
	}
	return ""
}
