package broker

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// limited is a view of a broker that takes one service of each member.
type limited struct {
	*testing.T
	*View
	told []string // by OnExport, since it was looked at last
}

func newLimited(t *testing.T, imported ...string) *limited {
	c := fake.NewClientBuilder().WithScheme(Scheme()).Build()
	l := &limited{T: t, View: NewView(c, settled(c))}
	l.Limit(1, func() map[names.ClusterID][]types.NamespacedName {
		before := map[names.ClusterID][]types.NamespacedName{}
		for _, name := range imported {
			before["b"] = append(before["b"], inShop(name))
		}
		return before
	})
	l.OnExport(func(e *brokerv1alpha1.ExportedService, _ bool) {
		l.told = append(l.told, e.Spec.ServiceName+" of "+e.Spec.ClusterID)
	})
	for _, of := range [][2]string{{"b", "db"}, {"b", "web"}, {"b", "xx"}, {"c", "web"}} {
		if err := l.exports.GetStore().Add(&brokerv1alpha1.ExportedService{
			ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: of[1] + ".shop." + of[0]},
			Spec:       brokerv1alpha1.ExportedServiceSpec{ClusterID: of[0], ServiceNamespace: "shop", ServiceName: of[1]},
		}); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func inShop(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

// admit has a service be decided on, as one that can be imported or not, and expects from whom it is, and of what
// others hear.
func (l *limited) admit(name string, possible bool, want []string, told ...string) {
	l.Helper()
	l.told = nil
	var all []brokerv1alpha1.ExportedServiceSpec
	if possible {
		all = l.Candidates(inShop(name), nil)
	}
	if got := clusters(l.Admit(inShop(name), all)); !slices.Equal(got, want) {
		l.Errorf("%s is imported from %v, want %v", name, got, want)
	}
	slices.Sort(l.told)
	if !slices.Equal(l.told, told) {
		l.Errorf("%s: others hear of %v, want %v", name, l.told, told)
	}
}

func clusters(exports []brokerv1alpha1.ExportedServiceSpec) []string {
	var ids []string
	for _, e := range exports {
		ids = append(ids, e.ClusterID)
	}
	slices.Sort(ids)
	return ids
}

func (l *limited) ask(name string, want ...string) {
	l.Helper()
	if got := clusters(l.Constituents(inShop(name), nil)); !slices.Equal(got, want) {
		l.Errorf("others are told that %s is imported from %v, want %v", name, got, want)
	}
}

// To ask takes no share; what can't be imported gives up its own, and its place among those that wait. Others
// hear of what they may have been told otherwise.
func TestAdmit(t *testing.T) {
	l := newLimited(t)
	l.ask("db", "b")
	l.ask("xx", "b")
	l.admit("web", true, []string{"b", "c"}) // as all who asked were told
	l.admit("db", true, nil, "db of b")
	l.admit("db", true, nil)
	l.ask("db")
	l.ask("xx") // nobody has decided, and there is no room
	l.admit("xx", true, nil, "xx of b")
	if refused := l.Refused(inShop("db")); !slices.Equal(refused, []names.ClusterID{"b"}) || l.LeftOut()["b"] != 2 {
		t.Errorf("refused: %v; left out: %v", refused, l.LeftOut())
	}
	l.admit("web", false, nil, "db of b") // its namespace goes
	l.admit("db", false, nil, "xx of b")  // and with it what has waited the longest
	l.admit("xx", true, []string{"b"}, "xx of b")
	l.ask("xx", "b")
	l.ask("web", "c")
	l.admit("xx", false, nil)
	l.admit("web", true, []string{"b", "c"}, "web of b") // whoever asked when there was no room, as the line before last
	l.admit("web", false, nil)
	l.admit("xx", true, []string{"b"}, "xx of b")
	l.admit("db", true, nil, "db of b")
	l.admit("web", true, []string{"c"}, "web of b") // of c's there was always room
	if members := l.limit.services.Members(inShop("web")); !slices.Equal(members, []string{"b", "c"}) {
		t.Errorf("web has something of %v", members)
	}
}

// What was imported before counts first.
func TestAdmitWhatWasImported(t *testing.T) {
	l := newLimited(t, "xx")
	l.admit("db", true, nil, "db of b")
	l.admit("xx", true, []string{"b"})
}
