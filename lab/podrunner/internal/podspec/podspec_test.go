package podspec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestExpand(t *testing.T) {
	env := map[string]string{"A": "1", "B": "$(A)", "EMPTY": ""}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	// As in k8s.io/kubernetes/third_party/forked/golang/expansion.
	for in, want := range map[string]string{
		"":               "",
		"plain":          "plain",
		"$(A)":           "1",
		"x$(A)y$(A)":     "x1y1",
		"$(B)":           "$(A)", // once only
		"$(EMPTY)!":      "!",
		"$(NONE)":        "$(NONE)",
		"$$(A)":          "$(A)",
		"$$$(A)":         "$1",
		"$$$$(A)":        "$$(A)",
		"$A ${A} $":      "$A ${A} $",
		"$(A":            "$(A",
		"$((A))":         "$((A))",
		"$()":            "$()",
		"cost: 5$":       "cost: 5$",
		"$(A)$":          "1$",
		"--x=$(A),$(A)$": "--x=1,1$",
	} {
		if got := Expand(in, lookup); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func testPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-0", Namespace: "shop", UID: "u-1",
			Labels: map[string]string{"app": "web", "tier": `"a"`}, Annotations: map[string]string{"x.io/y": "z"},
		},
		Spec: corev1.PodSpec{NodeName: "c1-n1", ServiceAccountName: "default", Containers: []corev1.Container{{Name: "web",
			Resources: corev1.ResourceRequirements{
				Limits:   corev1.ResourceList{"cpu": resource.MustParse("1500m")},
				Requests: corev1.ResourceList{"memory": resource.MustParse("1Mi")},
			}}}},
	}
}

var testPlace = Place{
	PodIPs: []string{"10.1.1.2", "fd00::2"}, HostIPs: []string{"172.30.1.1"},
	Allocatable: corev1.ResourceList{"memory": resource.MustParse("3Ki")},
}

func TestField(t *testing.T) {
	for path, want := range map[string]string{
		"metadata.name": "web-0", "metadata.namespace": "shop", "metadata.uid": "u-1",
		"metadata.labels['app']": "web", "metadata.annotations['x.io/y']": "z", "metadata.labels['none']": "",
		"metadata.labels": "app=\"web\"\ntier=\"\\\"a\\\"\"\n", "spec.nodeName": "c1-n1",
		"spec.serviceAccountName": "default", "status.podIP": "10.1.1.2", "status.podIPs": "10.1.1.2,fd00::2",
		"status.hostIP": "172.30.1.1", "status.hostIPs": "172.30.1.1",
	} {
		if got, err := Field(testPod(), testPlace, path); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
	}
	if _, err := Field(testPod(), testPlace, "status.phase"); err == nil {
		t.Error("status.phase was accepted")
	}
}

func TestResource(t *testing.T) {
	for _, tc := range []struct{ resource, divisor, want string }{
		{"limits.cpu", "0", "2"},
		{"limits.cpu", "1m", "1500"},
		{"requests.memory", "1Ki", "1024"},
		{"limits.memory", "2Ki", "2"}, // the node's, rounded up
		{"requests.cpu", "1", "0"},
	} {
		ref := &corev1.ResourceFieldSelector{Resource: tc.resource, Divisor: resource.MustParse(tc.divisor)}
		if got, err := Resource(testPod(), "web", testPlace, ref); err != nil || got != tc.want {
			t.Errorf("%v: got %q, %v", tc, got, err)
		}
	}
}

type objects struct {
	configMaps map[string]map[string]string
	secrets    map[string]map[string][]byte
}

func (o objects) ConfigMap(name string) *corev1.ConfigMap {
	if data, ok := o.configMaps[name]; ok {
		return &corev1.ConfigMap{Data: data}
	}
	return nil
}

func (o objects) Secret(name string) *corev1.Secret {
	if data, ok := o.secrets[name]; ok {
		return &corev1.Secret{Data: data}
	}
	return nil
}

func TestEnv(t *testing.T) {
	yes := true
	configKey := func(name, key string, optional *bool) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key, Optional: optional}}
	}
	have := objects{
		configMaps: map[string]map[string]string{"settings": {"COLOUR": "red"}},
		secrets:    map[string]map[string][]byte{"key": {"token": []byte("s3")}},
	}
	container := &corev1.Container{
		Name: "web",
		EnvFrom: []corev1.EnvFromSource{
			{Prefix: "P_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}},
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Optional: &yes}},
		},
		Env: []corev1.EnvVar{
			{Name: "A", Value: "a"},
			{Name: "AB", Value: "$(A)b $(WEB_SERVICE_HOST) $(LATER) $(P_COLOUR)"},
			{Name: "LATER", Value: "l"},
			{Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
			{Name: "CPU", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
			{Name: "COLOUR", ValueFrom: configKey("settings", "COLOUR", nil)},
			{Name: "TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "key"}, Key: "token"}}},
			{Name: "ABSENT", ValueFrom: configKey("settings", "none", &yes)},
			{Name: "HOME", Value: "/srv"},
		},
	}
	got, err := Env(testPod(), container, testPlace, have, map[string]string{"HOME": "/root", "PATH": "/bin"},
		map[string]string{"WEB_SERVICE_HOST": "10.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"A": "a", "AB": "ab 10.0.0.1 $(LATER) red", "LATER": "l", "IP": "10.1.1.2", "CPU": "2", "COLOUR": "red", "P_COLOUR": "red",
		"TOKEN": "s3", "HOME": "/srv", "PATH": "/bin", "WEB_SERVICE_HOST": "10.0.0.1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for source, message := range map[*corev1.EnvVarSource]string{
		configKey("none", "x", nil):     `configmap "none" not found`,
		configKey("settings", "x", nil): "couldn't find key x in ConfigMap shop/settings",
	} {
		container.Env = []corev1.EnvVar{{Name: "X", ValueFrom: source}}
		if _, err := Env(testPod(), container, testPlace, have, nil, nil); err == nil || err.Error() != message {
			t.Errorf("got %v, want %s", err, message)
		}
	}
}

func TestServiceEnv(t *testing.T) {
	got := ServiceEnv([]*corev1.Service{
		{ObjectMeta: metav1.ObjectMeta{Name: "headless"}, Spec: corev1.ServiceSpec{ClusterIP: "None"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "my-web"}, Spec: corev1.ServiceSpec{ClusterIP: "fd00::1",
			Ports: []corev1.ServicePort{{Name: "ht-tp", Port: 80, Protocol: "TCP"}}}},
	})
	want := map[string]string{
		"MY_WEB_SERVICE_HOST": "fd00::1", "MY_WEB_SERVICE_PORT": "80", "MY_WEB_SERVICE_PORT_HT_TP": "80",
		"MY_WEB_PORT": "tcp://[fd00::1]:80", "MY_WEB_PORT_80_TCP": "tcp://[fd00::1]:80", "MY_WEB_PORT_80_TCP_PROTO": "tcp",
		"MY_WEB_PORT_80_TCP_PORT": "80", "MY_WEB_PORT_80_TCP_ADDR": "fd00::1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPodResolver(t *testing.T) {
	host := ParseResolver("# x\nnameserver 192.0.2.53\nsearch corp.example\noptions edns0 ndots:1\n")
	two := "2"
	for name, tc := range map[string]struct {
		spec corev1.PodSpec
		want string
	}{
		"ClusterFirst": {corev1.PodSpec{DNSPolicy: corev1.DNSClusterFirst},
			"search shop.svc.cluster.local svc.cluster.local cluster.local corp.example\nnameserver 10.0.0.10\nnameserver fd00::a\noptions ndots:5\n"},
		"ClusterFirst on the host's network": {corev1.PodSpec{DNSPolicy: corev1.DNSClusterFirst, HostNetwork: true},
			"search corp.example\nnameserver 192.0.2.53\noptions edns0 ndots:1\n"},
		"ClusterFirstWithHostNet": {corev1.PodSpec{DNSPolicy: corev1.DNSClusterFirstWithHostNet, HostNetwork: true},
			"search shop.svc.cluster.local svc.cluster.local cluster.local corp.example\nnameserver 10.0.0.10\nnameserver fd00::a\noptions ndots:5\n"},
		"Default": {corev1.PodSpec{DNSPolicy: corev1.DNSDefault},
			"search corp.example\nnameserver 192.0.2.53\noptions edns0 ndots:1\n"},
		"None": {corev1.PodSpec{DNSPolicy: corev1.DNSNone, DNSConfig: &corev1.PodDNSConfig{Nameservers: []string{"192.0.2.9"}}},
			"nameserver 192.0.2.9\n"},
		"merged": {corev1.PodSpec{DNSPolicy: corev1.DNSClusterFirst, DNSConfig: &corev1.PodDNSConfig{
			Nameservers: []string{"192.0.2.8", "192.0.2.9"}, Searches: []string{"x.example", "cluster.local"},
			Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: &two}, {Name: "edns0"}}}},
			"search shop.svc.cluster.local svc.cluster.local cluster.local corp.example x.example\n" +
				"nameserver 10.0.0.10\nnameserver fd00::a\nnameserver 192.0.2.8\noptions ndots:2 edns0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}, Spec: tc.spec}
			got := PodResolver(pod, host, []string{"10.0.0.10", "fd00::a"}, "cluster.local").String()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHostnameAndHosts(t *testing.T) {
	pod := testPod()
	pod.Spec.Subdomain = "nodes"
	aliases := []corev1.HostAlias{{IP: "192.0.2.1", Hostnames: []string{"a", "b"}}}
	h, fqdn := Hostname(pod, "cluster.local")
	if h != "web-0" || fqdn != "web-0.nodes.shop.svc.cluster.local" {
		t.Errorf("got %s, %s", h, fqdn)
	}
	tail := "10.1.1.2\tweb-0.nodes.shop.svc.cluster.local\tweb-0\n192.0.2.1\ta\tb\n"
	if got := Hosts(h, fqdn, []string{"10.1.1.2"}, aliases); !strings.HasSuffix(got, tail) {
		t.Errorf("got %q", got)
	}
	pod.Name = strings.Repeat("x", 62) + "-rest"
	if h, _ := Hostname(pod, "cluster.local"); h != strings.Repeat("x", 62) {
		t.Errorf("got %s", h)
	}
}

func TestCommand(t *testing.T) {
	images := map[string][]string{"coredns/coredns": {"/opt/coredns", "-q"}, "registry.k8s.io/pause": {"sleep", "inf"}, "busybox": {}}
	env := map[string]string{"PORT": "80"}
	for name, tc := range map[string]struct {
		c    corev1.Container
		want []string
	}{
		"command": {corev1.Container{Image: "x", Command: []string{"sh", "-c", "nc $(PORT) $$(PORT)"}, Args: []string{"$(PORT)"}},
			[]string{"sh", "-c", "nc 80 $(PORT)", "80"}},
		"image":         {corev1.Container{Image: "docker.io/coredns/coredns:1.12.0", Args: []string{"-conf"}}, []string{"/opt/coredns", "-q", "-conf"}},
		"digest":        {corev1.Container{Image: "registry.k8s.io/pause:3@sha256:00"}, []string{"sleep", "inf"}},
		"no entrypoint": {corev1.Container{Image: "busybox", Args: []string{"sh"}}, []string{"sh"}},
		"no command":    {corev1.Container{Image: "busybox"}, nil},
		"unknown image": {corev1.Container{Image: "nginx"}, nil},
	} {
		got, err := Command(&tc.c, images, env)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != (tc.want == nil) {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	for image, want := range map[string]string{
		"localhost:5000/a/b": "localhost:5000/a/b", "localhost:5000/a:1": "localhost:5000/a",
		"docker.io/library/busybox:latest": "busybox", "busybox": "busybox",
	} {
		if got := Repository(image); got != want {
			t.Errorf("%s: got %s, want %s", image, got, want)
		}
	}
}
