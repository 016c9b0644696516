package dns

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/clusterdns"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
)

// NewRender returns the command `atoll render dns`, which writes to the given destination.
func NewRender(to *output.Manifests) *cobra.Command {
	var o installOptions
	var from string
	command := &cobra.Command{
		Use:   "dns",
		Short: "Render a cluster's DNS configuration with the changes of `atoll dns install`",
		Long: `Renders the complete objects that "atoll dns install" would change, with the changes. The command reads the
objects from the cluster, or from a file with --from. The file contains CoreDNS's ConfigMap, or the object of a
different DNS provider. For the providers, see atoll dns install --help. The command reads the address of
atoll-dns from its Service, unless you set --server. A key that "atoll dns install" would delete is rendered as an
empty key, because kubectl apply does not delete keys that another tool has written.`,
		Example: `  atoll render dns --context c1 > coredns.yaml
  atoll render dns --from coredns.yaml --server 10.96.0.53`,
		Args: cobra.MatchAll(cobra.NoArgs, func(*cobra.Command, []string) error { return o.complete() }),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := o.reader(from)
			if err != nil {
				return err
			}
			if err := o.findServers(cmd.Context(), cluster); err != nil {
				return err
			}
			found, err := clusterdns.Read(cmd.Context(), cluster, o.place)
			if err != nil {
				return err
			}
			changes, err := clusterdns.Install(o.wiring, o.forms)(found)
			if err != nil {
				return err
			}
			writeNotes(cmd.ErrOrStderr(), changes)
			return to.Write(cmd, output.Part{Name: "dns", Objects: after(changes)})
		},
	}
	flags := command.Flags()
	o.addPlaceFlags(flags)
	o.addWiringFlags(flags)
	flags.StringVar(&from, "from", "", "YAML file with the DNS configuration objects; default is to read them from the cluster")
	return command
}

// reader returns the cluster, or the file that replaces it.
func (o *installOptions) reader(from string) (client.Reader, error) {
	if from == "" {
		return o.connect()
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's objects: %w", err)
	}
	parsed, err := install.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	objects, err := flattened(parsed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("file %s contains no objects", from)
	}
	return clusterdns.Objects(objects), nil
}

// flattened replaces lists by their items: kubectl get writes several objects as one List.
func flattened(parsed []*unstructured.Unstructured) (objects []*unstructured.Unstructured, err error) {
	for _, o := range parsed {
		if !o.IsList() {
			objects = append(objects, o)
			continue
		}
		list, err := o.ToList()
		if err != nil {
			return nil, fmt.Errorf("reading the %s: %w", o.GetKind(), err)
		}
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
	}
	return objects, nil
}

// after returns the changed objects without the fields that only the API server sets.
func after(changes []dnswiring.Change) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, c := range changes {
		object, ok := withEmptied(c).(client.Object)
		if !ok {
			continue
		}
		o := install.Objects(object)[0]
		if o.GetKind() == "" { // typed objects from an API server have no kind
			o.SetAPIVersion("v1")
			o.SetKind("ConfigMap")
		}
		for _, field := range []string{"uid", "resourceVersion", "generation", "managedFields", "selfLink"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
		objects = append(objects, o)
	}
	return objects
}

// withEmptied returns the changed object with empty values for removed keys. kubectl apply keeps a key that another tool
// has written and that the applied object lacks, and CoreDNS does not start if both server blocks stay.
func withEmptied(c dnswiring.Change) dnswiring.Object {
	before, _ := c.Before.(*corev1.ConfigMap)
	if before == nil {
		return c.After
	}
	after, _ := c.After.(*corev1.ConfigMap)
	if after == nil { // a ConfigMap that Atoll has created, and would delete
		after = before.DeepCopy()
		after.Data = nil
	}
	none := ""
	if c.Form == dnswiring.KubeDNS {
		none = "{}" // its keys are JSON
	}
	for key := range before.Data {
		if _, found := after.Data[key]; found {
			continue
		}
		if after = after.DeepCopy(); after.Data == nil {
			after.Data = map[string]string{}
		}
		after.Data[key] = none
	}
	return after
}
