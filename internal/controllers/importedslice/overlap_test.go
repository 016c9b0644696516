package importedslice

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/local"
)

// A refusal is said once, and again when it is another, or of another import, or was over.
func TestRefusalsAreSaidOnce(t *testing.T) {
	part := local.Part{Service: types.NamespacedName{Namespace: "shop", Name: "web"}, Cluster: "c2"}
	other := local.Part{Service: part.Service, Cluster: "c3"}
	var said refusals
	for i, step := range []struct {
		part   local.Part
		forget bool
		what   refusal
		news   bool
	}{
		{part: part, what: refusal{"u1", "overlaps"}, news: true},
		{part: part, what: refusal{"u1", "overlaps"}},
		{part: other, what: refusal{"u1", "overlaps"}, news: true},
		{part: part, what: refusal{"u1", "overlaps more"}, news: true},
		{part: part, what: refusal{"u2", "overlaps more"}, news: true},
		{part: part, forget: true},
		{part: other, what: refusal{"u1", "overlaps"}},
		{part: part, what: refusal{"u2", "overlaps more"}, news: true},
	} {
		if step.forget {
			said.forget(step.part)
			continue
		}
		if news := said.news(step.part, step.what); news != step.news {
			t.Errorf("step %d: news is %t", i, news)
		}
	}
}
