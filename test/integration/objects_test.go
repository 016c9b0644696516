package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/install"
)

// namespace makes a namespace in the clusters and has it deleted afterwards.
func namespace(t *testing.T, name string, clusters ...string) {
	t.Helper()
	for _, cluster := range clusters {
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		create(t, cluster, object)
		t.Cleanup(func() {
			if err := on[cluster].Delete(context.Background(), object); client.IgnoreNotFound(err) != nil {
				t.Logf("deleting namespace %s in %s: %v", name, cluster, err)
			}
		})
	}
}

func create(t *testing.T, cluster string, object client.Object) {
	t.Helper()
	if err := on[cluster].Create(t.Context(), object); err != nil {
		t.Fatalf("creating in %s: %v", cluster, err)
	}
}

func remove(t *testing.T, cluster string, object client.Object) {
	t.Helper()
	if err := on[cluster].Delete(t.Context(), object); err != nil {
		t.Fatalf("deleting in %s: %v", cluster, err)
	}
}

// change reads an object, changes it and writes it back, as a person's kubectl edit does.
func change[T client.Object](t *testing.T, cluster string, object T, f func(T)) {
	t.Helper()
	eventually(t, "changing "+object.GetName(), func() error {
		if err := on[cluster].Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		f(object)
		return on[cluster].Update(t.Context(), object)
	})
}

func service(namespace, name string, ports ...int32) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, p := range ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", p), Port: p})
	}
	return s
}

func slice(namespace, name, service string, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Labels: map[string]string{discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: "test"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("p80"), Port: ptr.To(int32(8080))}},
	}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{a}, NodeName: ptr.To("n1"), Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
		})
	}
	return s
}

func export(namespace, name string) *mcsv1beta1.ServiceExport {
	return &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// expectImport waits for a ServiceImport of which check approves, and returns it.
func expectImport(t *testing.T, cluster, namespace, name string, check func(*mcsv1beta1.ServiceImport) error) *mcsv1beta1.ServiceImport {
	t.Helper()
	imp := &mcsv1beta1.ServiceImport{}
	eventually(t, fmt.Sprintf("ServiceImport %s/%s in %s", namespace, name, cluster), func() error {
		imp = &mcsv1beta1.ServiceImport{}
		if err := on[cluster].Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, imp); err != nil {
			return err
		}
		return check(imp)
	})
	return imp
}

// targetOf is a cluster as commands of Atoll's see it.
func targetOf(t *testing.T, cluster string) *install.Target {
	t.Helper()
	config, err := theLab.RESTConfig(cluster)
	if err != nil {
		t.Fatal(err)
	}
	target, err := install.NewTarget(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// expectGone waits until an object is not there.
func expectGone(t *testing.T, cluster string, object client.Object) {
	t.Helper()
	eventually(t, fmt.Sprintf("%T %s is gone in %s", object, object.GetName(), cluster), func() error {
		err := on[cluster].Get(t.Context(), client.ObjectKeyFromObject(object), object)
		if err == nil {
			return errors.New("it is there")
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// expectCondition waits for a condition of a ServiceExport.
func expectCondition(t *testing.T, cluster string, e *mcsv1beta1.ServiceExport, kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	eventually(t, fmt.Sprintf("condition %s of %s in %s", kind, e.Name, cluster), func() error {
		if err := on[cluster].Get(t.Context(), client.ObjectKeyFromObject(e), e); err != nil {
			return err
		}
		condition := meta.FindStatusCondition(e.Status.Conditions, kind)
		if condition == nil || condition.Status != status || condition.Reason != reason || condition.ObservedGeneration != e.Generation {
			return fmt.Errorf("want %s/%s, have %+v", status, reason, e.Status.Conditions)
		}
		found = *condition
		return nil
	})
	return found
}

// hasIP approves of imports with a clusterset IP.
func hasIP(imp *mcsv1beta1.ServiceImport) error {
	if len(imp.Spec.IPs) != 1 || !meta.IsStatusConditionTrue(imp.Status.Conditions, "Ready") {
		return fmt.Errorf("no clusterset IP or not ready: %+v", imp)
	}
	return nil
}

// exportedBy approves of imports that come from these clusters.
func exportedBy(clusters ...string) func(*mcsv1beta1.ServiceImport) error {
	return func(imp *mcsv1beta1.ServiceImport) error {
		var have []string
		for _, c := range imp.Status.Clusters {
			have = append(have, c.Cluster)
		}
		if fmt.Sprint(have) != fmt.Sprint(clusters) {
			return fmt.Errorf("it comes from %v, want %v", have, clusters)
		}
		return nil
	}
}

// from approves of imports that have a clusterset IP and come from these clusters.
func from(clusters ...string) func(*mcsv1beta1.ServiceImport) error {
	exported := exportedBy(clusters...)
	return func(imp *mcsv1beta1.ServiceImport) error {
		if err := exported(imp); err != nil {
			return err
		}
		return hasIP(imp)
	}
}

// expectAddresses waits until the imported slices of a namespace hold just these
// addresses, as cluster/address.
func expectAddresses(t *testing.T, cluster, namespace string, want ...string) {
	t.Helper()
	eventually(t, "endpoints of "+namespace+" in "+cluster, func() error {
		have := map[string]bool{}
		for _, s := range slicesOf(t, cluster, namespace) {
			for _, e := range s.Endpoints {
				have[s.Labels["multicluster.kubernetes.io/source-cluster"]+"/"+e.Addresses[0]] = true
			}
		}
		for _, w := range want {
			if !have[w] {
				return fmt.Errorf("have %v, want %v", have, want)
			}
		}
		if len(have) != len(want) {
			return fmt.Errorf("have %v, want %v", have, want)
		}
		return nil
	})
}
