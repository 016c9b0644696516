package simulation

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// A backup from before a member joined again shows the member as removed. Its Services stay imported, also by a new agent, until
// an administrator removes it again. That ends them in an agent that was down, too.
func TestRestoredRemoval(t *testing.T) {
	waits(t)
	b, members := joinAll(t, 3, Options{})
	shop(t, members...)
	importer, exporter, late := members[0], members[1], members[2]
	export(t, exporter, "web", "10.2.0.1", "")
	for _, m := range []*Member{importer, late} {
		expect(t, "what is exported", m, "10.2.0.1")
	}
	settled(t, members)
	planes.NoError(t, exporter.Stop()) // its token is from after the backup
	planes.NoError(t, late.Stop())
	events := listen(t, importer)

	restored := objects.Member(exporter.ID.String())
	planes.NoError(t, b.Admin.Get(t.Context(), client.ObjectKeyFromObject(restored), restored))
	planes.Delete(t, b.Admin, restored)
	restored = restored.DeepCopy()
	restored.ObjectMeta = metav1.ObjectMeta{Namespace: restored.Namespace, Name: restored.Name, Labels: restored.Labels}
	restored.Spec.State = brokerv1alpha1.MemberRemoved
	planes.Create(t, b.Admin, restored)
	events.expect(t, 1, "RemovalNotBelieved", "atoll-agent")
	planes.NoError(t, importer.Stop())
	planes.NoError(t, importer.Start(t.Context()))
	events.expect(t, 2, "RemovalNotBelieved", "atoll-agent")
	settled(t, members[:1])
	expect(t, "what is exported, after the restore", importer, "10.2.0.1")

	planes.Change(t, b.Admin, restored, func(m *brokerv1alpha1.MemberCluster) { m.Spec.RemovedAt = ptr.To(metav1.Now()) })
	expect(t, "no endpoint of a member that was removed again", importer)
}
