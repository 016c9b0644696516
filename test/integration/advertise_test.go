package integration

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// advertise restarts a cluster's agent in a mode and waits until the member reports the mode.
// The cleanup restores the old mode.
func advertise(t *testing.T, cluster string, mode brokerv1alpha1.AdvertiseMode) {
	t.Helper()
	restarted(t, cluster, func(args []string) []string {
		flag := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--advertise-mode=") })
		args[flag] = "--advertise-mode=" + string(mode)
		return args
	})
	member := objects.Member(cluster)
	planes.Until(t, cluster+" is in mode "+string(mode), on[lab.Broker], member, func() error {
		if member.Spec.AdvertiseMode != mode {
			return fmt.Errorf("the member is in mode %s", member.Spec.AdvertiseMode)
		}
		return nil
	})
}

// If the older export is headless, the service is headless, and a cluster IP is not an endpoint
// of a headless service.
func TestClusterIPIsNoEndpointOfAHeadlessService(t *testing.T) {
	const ns = "vip-headless"
	advertise(t, "c2", brokerv1alpha1.AdvertiseClusterIP)
	namespace(t, ns, "c1", "c2")
	web := service(ns, "web", 80)
	create(t, "c2", web, slice(ns, "web-x", "web", "10.2.1.1"), export(ns, "web"))
	expectAddresses(t, "c1", ns, "c2/"+web.Spec.ClusterIP)
	older := objects.Record("c0", ns, "web") // if both have the same second, the lower id is the older export
	older.Spec.Type, older.Spec.ExportedAt = mcsv1beta1.Headless, metav1.Unix(1_700_000_000, 0)
	temporary(t, lab.Broker, older)
	expectAddresses(t, "c1", ns, "c2/10.2.1.1")
	expectImport(t, "c1", ns, "web", isHeadless)
	withdraw(t, older)
	expectAddresses(t, "c1", ns, "c2/"+web.Spec.ClusterIP)
}

func TestModeIsChangedWithoutLosingTheService(t *testing.T) {
	const ns = "mode"
	namespace(t, ns, "c1", "c2")
	web := service(ns, "web", 80)
	create(t, "c1", web, slice(ns, "web-x", "web", "10.1.1.1"), slice(ns, "web-y", "web", "10.1.1.2"), export(ns, "web"))
	expectAddresses(t, "c2", ns, "c1/10.1.1.1", "c1/10.1.1.2")
	imported := follow(t, "c2", ns)
	atBroker := follow(t, lab.Broker, broker.DefaultNamespace, client.MatchingLabels{names.LabelServiceNamespace: ns})

	advertise(t, "c1", brokerv1alpha1.AdvertiseClusterIP)
	expectAddresses(t, "c2", ns, "c1/"+web.Spec.ClusterIP)
	advertise(t, "c1", brokerv1alpha1.AdvertisePods)
	expectAddresses(t, "c2", ns, "c1/10.1.1.1", "c1/10.1.1.2")
	for where, least := range map[string]int{"c2": imported(), "the broker": atBroker()} {
		if least == 0 {
			t.Errorf("there was a moment without endpoints in %s", where)
		}
	}
}

// follow watches Atoll's slices in a cluster. The returned function ends the watch and returns
// the lowest number of endpoints since there were any.
func follow(t *testing.T, cluster, namespace string, of ...client.ListOption) func() int {
	t.Helper()
	of = append(of, client.InNamespace(namespace), client.HasLabels{names.LabelSourceCluster})
	w, err := on[cluster].Watch(t.Context(), &discoveryv1.EndpointSliceList{}, of...)
	noError(t, err)
	var mu sync.Mutex
	endpoints, versions, least := map[string]int{}, map[string]string{}, -1
	go func() {
		for e := range w.ResultChan() {
			s, ok := e.Object.(*discoveryv1.EndpointSlice)
			if !ok {
				return
			}
			mu.Lock()
			endpoints[s.Name], versions[s.Name] = len(s.Endpoints), s.ResourceVersion
			if e.Type == watch.Deleted {
				delete(endpoints, s.Name)
				delete(versions, s.Name)
			}
			sum := 0
			for _, n := range endpoints {
				sum += n
			}
			if sum > 0 && least < 0 || sum < least {
				least = sum
			}
			mu.Unlock()
		}
	}()
	return func() int {
		defer w.Stop()
		eventually(t, "the watch has seen all", func() error {
			list, now := &discoveryv1.EndpointSliceList{}, map[string]string{}
			if err := on[cluster].List(t.Context(), list, of...); err != nil {
				return err
			}
			for _, s := range list.Items {
				now[s.Name] = s.ResourceVersion
			}
			mu.Lock()
			defer mu.Unlock()
			if !maps.Equal(now, versions) {
				return errors.New("the versions changed")
			}
			return nil
		})
		mu.Lock()
		defer mu.Unlock()
		return least
	}
}

// TestOverlappingRangesAreRefused adds a third cluster whose Service range is also c2's.
func TestOverlappingRangesAreRefused(t *testing.T) {
	const ns = "overlap"
	namespace(t, ns, "c1", "c2")
	share(t, "c1", ns, "web", "10.1.1.1")
	c9 := stranger(t, "c9", ns, "10.102.0.9", "10.102.0.0/16")
	// The Service range of c1 does not overlap.
	expectAddresses(t, "c1", ns, "c1/10.1.1.1", "c9/10.102.0.9")
	expectAddresses(t, "c2", ns, "c1/10.1.1.1")
	expectImport(t, "c2", ns, "web", from("c1", "c9"))
	want := `The endpoints of cluster "c9" are not imported, because the cluster advertises cluster IPs that are also in use in cluster "c2": ` +
		`10.102.0.0/16 overlaps this cluster's Service CIDR 10.102.0.0/16.`
	expectRefusals(t, ns, want)

	// Later changes cause no further Event.
	for i := range 3 {
		change(t, lab.Broker, c9.slice, func(s *discoveryv1.EndpointSlice) {
			s.Endpoints[0].Addresses = []string{fmt.Sprintf("10.102.0.%d", 10+i)}
		})
		expectAddresses(t, "c1", ns, "c1/10.1.1.1", fmt.Sprintf("c9/10.102.0.%d", 10+i))
	}
	expectAddresses(t, "c2", ns, "c1/10.1.1.1")
	expectRefusals(t, ns, want)

	// Each refused cluster has its own Event.
	stranger(t, "c8", ns, "10.102.9.9", "10.0.0.0/8")
	expectRefusals(t, ns, want, `10.0.0.0/8 overlaps this cluster's Service CIDR 10.102.0.0/16.`)

	// After the first cluster moves to another range, its endpoints are imported.
	change(t, lab.Broker, c9.member, func(m *brokerv1alpha1.MemberCluster) { m.Spec.ServiceCIDRs = []string{"10.200.0.0/16"} })
	change(t, lab.Broker, c9.slice, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"10.200.0.9"} })
	expectAddresses(t, "c1,c2", ns, "c1/10.1.1.1", "c9/10.200.0.9")
	// After the cluster moves to a range that overlaps again, its imported endpoints are
	// withdrawn.
	change(t, lab.Broker, c9.member, func(m *brokerv1alpha1.MemberCluster) { m.Spec.ServiceCIDRs = []string{"10.102.128.0/17"} })
	expectAddresses(t, "c2", ns, "c1/10.1.1.1")
	planes.Told(t, on["c2"], ns, "ServiceImport", "web", "OverlappingRanges", `10.102.128.0/17 overlaps this cluster's Service CIDR 10.102.0.0/16.`)
}

// member holds a cluster's objects on the broker. The cluster runs no agent.
type member struct {
	member *brokerv1alpha1.MemberCluster
	slice  *discoveryv1.EndpointSlice
}

// stranger registers a cluster that exports web of a namespace by its cluster IP.
func stranger(t *testing.T, id names.ClusterID, namespace, ip, serviceCIDR string) member {
	t.Helper()
	source := slice(namespace, "web-x", "web", "10.9.1.1")
	ports := []mcsv1beta1.ServicePort{{Name: "p80", Protocol: corev1.ProtocolTCP, Port: 80}}
	service := types.NamespacedName{Namespace: namespace, Name: "web"}
	published := endpoints.Export{Cluster: id, Service: service, BrokerNamespace: broker.DefaultNamespace, Ports: ports}.ClusterIPSlices(
		[]string{ip}, []*discoveryv1.EndpointSlice{source})
	m := member{objects.Member(id.String()), published[names.ClusterIPSlice("web", string(discoveryv1.AddressTypeIPv4))]}
	m.slice.Annotations[names.AnnotationRevision] = "1"
	m.member.Spec.ServiceCIDRs, m.member.Spec.AdvertiseMode = []string{serviceCIDR}, brokerv1alpha1.AdvertiseClusterIP
	record := objects.Record(id.String(), namespace, "web", ports...)
	record.Spec.OnClusterLoss = names.OnLossKeep // the cluster sends no heartbeat
	temporary(t, lab.Broker, m.member, record, m.slice)
	return m
}

// expectRefusals waits until c2 has sent these Events about the import of web, each once.
func expectRefusals(t *testing.T, namespace string, want ...string) {
	t.Helper()
	for _, w := range want {
		planes.Told(t, on["c2"], namespace, "ServiceImport", "web", "OverlappingRanges", w)
	}
	of := said{t, "c2", namespace, "ServiceImport", "OverlappingRanges"} // not counted again at the end: later steps send more Events
	eventually(t, "as many Events", func() error { return of.count(t.Context(), len(want)) })
}
