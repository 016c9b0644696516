package broker

import (
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/epoch"
	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// taps see what comes of the broker's before the copies have it.
type taps struct{ members, exports, slices, own, other *informers.Tap }

func (t taps) expire() {
	for _, tap := range []*informers.Tap{t.members, t.exports, t.slices, t.own, t.other} {
		tap.Expire()
	}
}

func (e *Epoch) newTaps() taps {
	listed := func() { e.happened((*epoch.Judge).Unsure) }
	return taps{
		exports: &informers.Tap{
			Metered: e.metered,
			Listed: func() {
				listed()
				e.mayBeLost() // others may have seen something go that is back when this one looks
			},
			Item: e.visible, Event: e.recordChanged,
		},
		slices: &informers.Tap{Metered: e.metered, Listed: listed, First: func() { e.happened((*epoch.Judge).Begun) }, Event: e.sliceChanged},
		other:  &informers.Tap{},
		own: &informers.Tap{Event: func(what watch.EventType, object client.Object) watch.EventType {
			if what == watch.Modified {
				e.saw(object.GetResourceVersion(), object.GetAnnotations()[names.AnnotationRestored])
			}
			return what
		}},
		members: &informers.Tap{
			Metered: e.metered,
			Listed:  listed,
			Event: func(what watch.EventType, object client.Object) watch.EventType {
				e.member(what, object.(*brokerv1alpha1.MemberCluster))
				return what
			},
		},
	}
}

// member takes notice of what becomes of a member's entry.
func (e *Epoch) member(what watch.EventType, m *brokerv1alpha1.MemberCluster) {
	e.happened(func(j *epoch.Judge) {
		if what == watch.Deleted {
			j.Vanished(m.Name, version(m.ResourceVersion))
		} else {
			j.Heard(m.Name, statement(m))
		}
	})
	e.tell()
}
