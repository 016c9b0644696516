package broker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/epoch"
	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/names"
)

const (
	// firstLook and lastLook bound how long to wait before looking again where a look did not
	// settle what it was for.
	firstLook = 50 * time.Millisecond
	lastLook  = 10 * time.Second
	// apart is how long after a look began the next one does, so that a burst of deletions shares it.
	apart = 20 * time.Millisecond
	// lookTimeout is how long the broker is waited for.
	lookTimeout = 10 * time.Second
)

// Epoch tells whether what is missing on the broker was taken away by the member that it is
// about (docs/adr/0031-epochs.md). It lasts as long as the membership, while views come and go.
type Epoch struct {
	client    client.WithWatch
	namespace string
	self      names.ClusterID
	log       *slog.Logger
	members   cache.SharedIndexInformer
	taps      taps
	wake      chan struct{}

	// Ranges are what the broker's owner allows.
	Ranges *Ranges

	mu      sync.Mutex
	judge   *epoch.Judge
	view    *View
	absent  absence
	waiting waiting
	// waitingOutdated waits for what there is to be what was published last.
	waitingOutdated waiting
	handlers        map[*func()]bool
	looked          chan struct{} // closed after the first look
	lost            int           // how often the own entry was, or nobody knows what else
	// beat is the version of the own heartbeat that was seen or written last.
	beat string
	// restored is what the own heartbeat says of when it was last found to be an older one. found tells that this
	// replica has found so too, and the heartbeat does not say so yet.
	restored string
	found    bool
	warned   bool
}

// NewEpoch returns what remembers, and knows nothing else until Start has looked.
func NewEpoch(c client.WithWatch, namespace string, self names.ClusterID, memory epoch.Memory, log *slog.Logger) *Epoch {
	e := &Epoch{
		client: c, namespace: namespace, self: self, log: log, judge: epoch.NewJudge(memory),
		absent: newAbsence(), waiting: waiting{}, waitingOutdated: waiting{}, handlers: map[*func()]bool{}, looked: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	e.taps = e.newTaps()
	e.members = informers.NewTapped(c, e.taps.members, &brokerv1alpha1.MemberClusterList{}, &brokerv1alpha1.MemberCluster{},
		nil, client.InNamespace(namespace))
	e.Ranges = newRanges(c, e.taps.other, namespace, log)
	e.OnOwnMember(func() {
		if e.MembersSynced() && e.Member(self) == nil {
			e.mayBeLost()
		}
	})
	return e
}

// Start looks into whatever happens until ctx is done.
func (e *Epoch) Start(ctx context.Context) {
	go e.members.RunWithContext(ctx)
	go func() { _ = e.Ranges.Start(ctx) }()
	pause := firstLook
	for ctx.Err() == nil {
		began := time.Now()
		if e.look(ctx) {
			pause = firstLook
			select {
			case <-ctx.Done():
			case <-e.wake:
			}
			sleep(ctx, apart-time.Since(began), nil)
			continue
		}
		sleep(ctx, apart-time.Since(began), nil)
		sleep(ctx, pause, e.wake)
		pause = min(2*pause, lastLook)
	}
}

// sleep returns after a time, or sooner when there is news or ctx is done.
func sleep(ctx context.Context, d time.Duration, news <-chan struct{}) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-news:
	}
}

// doubts tells whether what is missing of a member may be there all the same. It is called with mu held.
func (e *Epoch) doubts(cluster names.ClusterID) bool { return e.judge.Doubts(cluster.String()) }

// Doubts tells whether what is missing of a member may be there all the same.
func (e *Epoch) Doubts(cluster names.ClusterID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.doubts(cluster)
}

// Hold tells whether what is missing of a member's may be there all the same: of a service, unless it has
// withdrawn that, or whatever else for none. If so, again is called when that is not so any more;
// once for each key.
func (e *Epoch) Hold(service types.NamespacedName, cluster names.ClusterID, key any, again func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	about := export{service, cluster}
	if !e.doubts(cluster) || e.absent.has(about) {
		return false
	}
	e.waiting.add(about, key, again)
	return true
}

// holdOutdated is Hold for what is there, which may be from before what the member has published last.
func (e *Epoch) holdOutdated(service types.NamespacedName, cluster names.ClusterID, key any, again func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.judge.Outdated(cluster.String()) {
		return false
	}
	e.waitingOutdated.add(export{service, cluster}, key, again)
	return true
}

// Place is the UID of the clusterset's namespace, "" where it is not known.
func (e *Epoch) Place() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.judge.Place()
}

// Memory is what is to outlast the process. The own statement need not, for each process makes
// another one.
func (e *Epoch) Memory() epoch.Memory {
	e.mu.Lock()
	defer e.mu.Unlock()
	memory := e.judge.Memory()
	delete(memory.Members, e.self.String())
	return memory
}

// Await returns after the first look, or with ctx's error.
func (e *Epoch) Await(ctx context.Context) error {
	select {
	case <-e.looked:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Lost is another number whenever something of this member's was lost on the broker, or may have
// been, and everything has to be published again.
func (e *Epoch) Lost() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lost + e.judge.Rounds(e.self.String())
}

// mayBeLost has everything be published again.
func (e *Epoch) mayBeLost() {
	e.mu.Lock()
	e.lost++
	e.mu.Unlock()
	e.tell()
}

// OnChange has f called when any of what Memory, Place and Lost return may have changed, until
// what it returns is called.
func (e *Epoch) OnChange(f func()) (off func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.handlers[&f] = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.handlers, &f)
	}
}

func (e *Epoch) tell() {
	e.mu.Lock()
	handlers := slices.Collect(maps.Keys(e.handlers))
	e.mu.Unlock()
	for _, f := range handlers {
		(*f)()
	}
}

// happened tells the judge of something that is to be looked into.
func (e *Epoch) happened(what func(*epoch.Judge)) {
	e.mu.Lock()
	what(e.judge)
	open := !e.judge.Settled()
	e.mu.Unlock()
	if open {
		e.kick()
	}
}

func (e *Epoch) kick() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Found is called with the own heartbeat as it was read. before is what Beat returned before
// that. It tells whether it is an older one than there was, which no other replica has said. In another namespace than before
// versions can't be compared, which a look deals with.
func (e *Epoch) Found(ctx context.Context, before string, lease *coordinationv1.Lease) (older bool, err error) {
	if less(lease.ResourceVersion, before) {
		place, _, err := e.placed(ctx)
		if err != nil {
			return false, err
		}
		if !e.at(place) {
			e.kick()
			return false, nil
		}
	}
	return e.compare(before, lease), nil
}

// at tells whether a namespace is the clusterset's, as far as either is known.
func (e *Epoch) at(place string) bool {
	known := e.Place()
	return known == place || known == "" || place == ""
}

// compare is Found where the namespace is the same.
func (e *Epoch) compare(before string, lease *coordinationv1.Lease) (older bool) {
	e.mu.Lock()
	restored := lease.Annotations[names.AnnotationRestored]
	older = before != "" && less(lease.ResourceVersion, before) && !less(e.beat, before)
	said := restored != "" && restored != e.restored && e.beat != ""
	// What two replicas find is one thing: whoever has published again since the first has found it would be awaited for ever.
	told := said && !e.found
	e.restored, e.found = restored, (older || e.found) && !said
	if older || told {
		e.log.Warn("the broker was put back to an earlier state: what other members export is kept until they have published it again")
		e.judge.Back()
		e.beat = lease.ResourceVersion
	} else if less(e.beat, lease.ResourceVersion) {
		e.beat = lease.ResourceVersion
	}
	e.mu.Unlock()
	if older || told {
		e.taps.expire() // a watch may have gone on as if nothing had happened
		e.kick()
	}
	return older && !said
}

// Beat is the version of the own heartbeat that is known, "" for none.
func (e *Epoch) Beat() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.beat
}

// saw is called when a watch shows that the own heartbeat was renewed, perhaps by another replica.
func (e *Epoch) saw(version string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if less(e.beat, version) {
		e.beat = version
	}
}

// Renewed is called with the own heartbeat as it was written. One that was made, and is older than the one that there was, is
// looked into: it may have been missing because an earlier state was restored, in which this cluster was no member yet.
func (e *Epoch) Renewed(lease *coordinationv1.Lease) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.beat != "" && less(lease.ResourceVersion, e.beat) {
		e.kick()
		return
	}
	e.beat, e.restored, e.found = lease.ResourceVersion, lease.Annotations[names.AnnotationRestored], false
}

// less tells whether a version is older than another one. What can't be compared is not.
func less(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0 || a == "" && b != ""
}

// look reads what the judge wants to know, and tells whether that settles it.
func (e *Epoch) look(ctx context.Context) (settled bool) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	e.mu.Lock()
	began, beat, view := e.judge.Begin(), e.beat, e.view
	e.mu.Unlock()
	r, err := e.read(ctx, beat)
	if err == nil {
		r.Shown, err = e.shown(ctx, view, e.candidates(r))
	}
	if err != nil {
		if ctx.Err() == nil {
			e.log.Debug("looking at the broker failed, will try again", "error", err)
		}
		return false
	}
	e.mu.Lock()
	place := e.judge.Place()
	e.judge.Looked(began, r)
	if place != "" && e.judge.Place() != place {
		e.beat = "" // that the heartbeat is an older one there is no news, and who has published there since is not awaited again
	}
	settled = !r.Going && len(e.judge.Candidates(r)) == 0 && !e.judge.Unseen()
	again := e.released()
	select {
	case <-e.looked:
	default:
		close(e.looked)
	}
	e.mu.Unlock()
	if place != "" && !r.Going && r.Place != "" && r.Place != place {
		e.taps.expire() // likewise: it may be another broker, with lower versions
		e.log.Warn("the clusterset's namespace on the broker was made anew: what other members export is kept until they have published it again")
	}
	call(again)
	e.tell()
	return settled
}

func (e *Epoch) candidates(r epoch.Reading) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.judge.Candidates(r)
}

// released takes out what waits for members about whom there are no doubts, and tells of the records that
// were kept of theirs. It is called with mu held.
func (e *Epoch) released() []func() {
	believed := func(cluster names.ClusterID) bool { return !e.doubts(cluster) }
	again := e.waiting.takeAll(believed)
	again = append(again, e.waitingOutdated.takeAll(func(cluster names.ClusterID) bool { return !e.judge.Outdated(cluster.String()) })...)
	for _, about := range e.absent.dropAll(believed) {
		if e.view != nil {
			again = append(again, e.view.announcement(about))
		}
	}
	return again
}

// read looks at the broker: first at the members, then at what tells whether it is what it was. If that is so, it was
// while the members were read.
func (e *Epoch) read(ctx context.Context, beat string) (epoch.Reading, error) {
	r := epoch.Reading{Members: map[string]epoch.Statement{}}
	members := &brokerv1alpha1.MemberClusterList{}
	if err := e.client.List(ctx, members, client.InNamespace(e.namespace)); err != nil {
		return r, fmt.Errorf("listing members: %w", err)
	}
	r.Version = version(members.ResourceVersion)
	for _, m := range members.Items {
		r.Members[m.Name] = statement(&m)
	}
	var heartbeat *coordinationv1.Lease
	var group errgroup.Group
	group.Go(func() (err error) {
		heartbeat, err = e.heartbeat(ctx)
		return err
	})
	group.Go(func() (err error) {
		r.Place, r.Going, err = e.placed(ctx)
		return err
	})
	if err := group.Wait(); err != nil {
		return r, err
	}
	switch {
	case heartbeat == nil:
		r.Unheard = beat != ""
	case e.at(r.Place):
		e.compare(beat, heartbeat)
	}
	return r, nil
}

// heartbeat reads the own heartbeat, and returns nil where there is none.
func (e *Epoch) heartbeat(ctx context.Context) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	err := e.client.Get(ctx, client.ObjectKey{Namespace: e.namespace, Name: e.self.String()}, lease)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the own heartbeat: %w", err)
	}
	return lease, nil
}

// placed returns the UID of the clusterset's namespace, "" where it can't be read, and whether it goes or is gone.
func (e *Epoch) placed(ctx context.Context) (place string, going bool, err error) {
	namespace := &corev1.Namespace{}
	switch err := e.client.Get(ctx, client.ObjectKey{Name: e.namespace}, namespace); {
	case err == nil:
		return string(namespace.UID), namespace.DeletionTimestamp != nil, nil
	case apierrors.IsNotFound(err):
		return "", true, nil
	case apierrors.IsForbidden(err):
		e.warnOnce(err)
		return "", false, nil
	default:
		return "", false, fmt.Errorf("reading the clusterset's namespace: %w", err)
	}
}

// warnOnce says that the broker was deployed by an older version, whose members may not read
// the clusterset's namespace.
func (e *Epoch) warnOnce(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.warned {
		e.log.Warn("this member can't tell whether the clusterset's namespace is the same one: run atoll broker deploy again, on the broker", "error", err)
		e.warned = true
	}
}

// statement is what a member says of what it publishes.
func statement(m *brokerv1alpha1.MemberCluster) epoch.Statement {
	if m.Spec.Published == nil {
		return epoch.Statement{}
	}
	p := m.Spec.Published
	return epoch.Statement{Place: p.Namespace, At: p.At.UnixMicro(), Seen: version(p.ResourceVersion)}
}
