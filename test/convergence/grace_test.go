package convergence

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	made "github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
	"github.com/atoll-mcs/atoll/test/simulation"
)

// TestServiceThatIsMadeAgainKeepsItsAddress deletes an exported Service and creates it again,
// as kubectl replace --force does. The endpoints are withdrawn at once, and the imports keep
// their clusterset IPs in both clusters. If the Service is not created again, the imports are
// deleted.
func TestServiceThatIsMadeAgainKeepsItsAddress(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPair(t, simulation.Options{})
		p.export("web", "10.1.1.1")
		<-time.After(5 * time.Second)
		clusters := []client.Client{p.from, p.to}
		before := []string{p.vip(p.from), p.vip(p.to)}
		planes.Delete(t, p.from, made.Service("shop", "web"))
		<-time.After(10 * time.Second)
		for i, c := range clusters {
			if have := p.endpoints(c, "web"); len(have) != 0 {
				t.Errorf("c%d still has the endpoints %v of a deleted Service", i+1, have)
			}
		}
		planes.Create(t, p.from, made.Service("shop", "web", 80))
		<-time.After(40 * time.Second)
		for i, c := range clusters {
			if vip := p.vip(c); vip != before[i] {
				t.Errorf("c%d has clusterset IP %s, want %s", i+1, vip, before[i])
			}
			if have := p.endpoints(c, "web"); len(have) != 1 {
				t.Errorf("c%d has the endpoints %v of the re-created Service, want one", i+1, have)
			}
		}
		planes.Delete(t, p.from, made.Service("shop", "web"))
		<-time.After(31 * time.Second)
		for i, c := range clusters {
			imp := made.Import("shop", "web")
			if err := planes.IsGone(c.Get(t.Context(), client.ObjectKeyFromObject(imp), imp)); err != nil {
				t.Errorf("c%d has the import still: %v", i+1, err)
			}
		}
	})
}
