package agent

import (
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestAdvertiseModeOption(t *testing.T) {
	for mode, want := range map[string]string{
		"":           "",
		"pods":       "",
		"cluster-ip": "",
		"clusterip":  `--advertise-mode: "clusterip" is neither "pods" nor "cluster-ip": choose "pods" if`,
		"Pods":       `--advertise-mode: "Pods" is neither`,
	} {
		o := Options{
			ClusterID: "c1", BrokerNamespace: "set", Broker: &rest.Config{},
			LeaseTimeout: minLeaseTimeout, AdvertiseMode: mode,
		}
		err := o.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: error %v, want %q", mode, err, want)
		}
	}
}
