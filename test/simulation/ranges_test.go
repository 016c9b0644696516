package simulation

import (
	"context"
	"fmt"
	"slices"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// allow sets the addresses that the broker's owner permits members.
func allow(t *testing.T, onBroker client.Client, ranges map[string]string) {
	t.Helper()
	data := map[string]string{}
	for id, of := range ranges {
		data["ranges."+id] = of
	}
	planes.Permit(t, onBroker, data)
}

// The permissions of the broker's owner hold whatever the member does. They also hold after the
// broker has lost them, or has an empty ConfigMap instead, even for an agent that starts then. A
// change affects only the slices of that member.
func TestAllowedRangesHold(t *testing.T) {
	waits(t)
	b, err := MemoryBroker()
	planes.NoError(t, err)
	allow(t, b.Admin, map[string]string{"sim1": "10.1.0.0/16"})
	members := joinTo(t, b, 3, Options{})
	shop(t, members...)
	hostile, other, importer := members[0], members[1], members[2]
	for i, name := range []string{"a", "b", "c"} {
		export(t, hostile, name, fmt.Sprintf("10.1.0.%d", i+1), "")
		export(t, other, name, fmt.Sprintf("10.2.0.%d", i+1), "")
		source := objects.Slice("shop", name+"-1", name, fmt.Sprintf("10.1.0.%d", i+1), fmt.Sprintf("10.7.0.%d", i+1), fmt.Sprintf("10.1.1.%d", i+1))
		planes.NoError(t, hostile.Client.Update(t.Context(), source))
	}
	others := []string{"10.2.0.1", "10.2.0.2", "10.2.0.3"}
	within := []string{"10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.1.1", "10.1.1.2", "10.1.1.3"}
	outside := []string{"10.7.0.1", "10.7.0.2", "10.7.0.3"}
	all := func(lists ...[]string) []string { return slices.Sorted(slices.Values(slices.Concat(lists...))) }
	expect(t, "what is allowed", importer, all(within, others)...)
	expect(t, "its own", hostile, all(within, others, outside)...)
	settled(t, members)

	// A wider or narrower range rewrites the slices of this member only.
	for _, step := range []struct {
		data map[string]string
		want []string
	}{
		{map[string]string{"sim1": "10.1.0.0/16 10.7.0.0/16"}, all(within, others, outside)},
		{map[string]string{"sim1": "10.7.0.0/16", "sim9": "10.9.0.0/16"}, all(others, outside)},
		{nil, all(within, others, outside)},
	} {
		before, written := counted(importer), versionsOf(t, importer.Client)
		allow(t, b.Admin, step.data)
		expect(t, fmt.Sprint(step.data), importer, step.want...)
		settled(t, members)
		if got := counted(importer).minus(before); got["written endpointslices"] != 3 {
			t.Errorf("%v: requests for writes are %v", step.data, got)
		}
		var changed []string
		for key, version := range versionsOf(t, importer.Client) {
			if written[key] != version {
				changed = append(changed, key)
			}
		}
		if len(changed) > 4 { // three slices and the stored permissions
			t.Errorf("%v: written are %v", step.data, changed)
		}
	}

	// Members keep slices that were deleted on the broker in a doubtful way. The addresses of
	// these slices must be permitted too.
	planes.NoError(t, hostile.Stop())
	for _, name := range []string{"a", "b"} {
		planes.Delete(t, b.Admin, objects.Record("sim1", "shop", name))
		planes.NoError(t, b.Admin.DeleteAllOf(t.Context(), &discoveryv1.EndpointSlice{}, client.InNamespace(broker.DefaultNamespace),
			client.MatchingLabels{names.LabelSourceCluster: "sim1", names.LabelServiceName: name}))
	}
	settled(t, members[1:])
	expect(t, "what is in doubt", importer, all(within, others, outside)...)
	allow(t, b.Admin, map[string]string{"sim1": "10.1.0.0/16"})
	expect(t, "what is in doubt and allowed", importer, all(within, others)...)

	// The permissions still hold after the broker has lost them.
	planes.Delete(t, b.Admin, objects.Permissions(nil))
	planes.NoError(t, hostile.Start(t.Context()))
	eventually(t, "the hostile member has published all again", func(ctx context.Context) error { return holds(ctx, b.Admin, all(within, outside)) })
	export(t, hostile, "d", "10.1.0.4", "")
	export(t, hostile, "e", "10.7.0.5", "")
	eventually(t, "the last is imported", func(ctx context.Context) error { return planes.Imported(ctx, importer.Client, "shop", "e", "sim1") })
	within = append(within, "10.1.0.4")
	expect(t, "what is allowed, without what says so", importer, all(within, others)...)
	settled(t, members)
	expect(t, "what is allowed, a while later", importer, all(within, others)...)

	// An empty ConfigMap, as atoll broker deploy creates it, permits nothing more, also to a new agent.
	events := listen(t, importer)
	allow(t, b.Admin, nil)
	events.expect(t, 1, "PermissionsKept", "atoll-agent")
	settled(t, members)
	expect(t, "what is allowed, by an empty ConfigMap", importer, all(within, others)...)
	planes.NoError(t, importer.Stop())
	planes.NoError(t, importer.Start(t.Context()))
	events.expect(t, 2, "PermissionsKept", "atoll-agent")
	settled(t, members)
	expect(t, "what a new agent allows by an empty ConfigMap", importer, all(within, others)...)
	allow(t, b.Admin, map[string]string{"sim2": ""})
	expect(t, "what is allowed now", importer, all(within, outside, []string{"10.7.0.5"})...)
}
