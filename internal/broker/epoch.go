package broker

import (
	"context"
	"errors"
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/epoch"
	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/internal/quota"
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
	own       cache.SharedIndexInformer // the own heartbeat, which another replica may renew
	taps      taps
	beats     *bell // rung each time that the own heartbeat was looked after
	wake      chan struct{}

	// Permissions are what the broker's administrators permit members.
	Permissions *Permissions

	metered *informers.Metered

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
	// beat is the own heartbeat that was seen or written last.
	beat Beat
	// entry is the UID that the own entry had when the heartbeat was last found beside it.
	entry types.UID
	// restored is what the own heartbeat says of when it was last found to be an older one. foundAt is when this
	// replica has found so too, where the heartbeat does not say so yet.
	restored string
	foundAt  time.Time
	onBack   func()
	warned   bool
	// outran is what the copy has had of the own entry when the broker had another one.
	outran outran
	// hiddenSince is when the clusterset's namespace was first found not to be readable any more, zero while it is.
	hiddenSince time.Time
	// live tells whether a member lives.
	live func(names.ClusterID) bool
	// withdrawn tells whether a member is lost, so that its endpoints are withdrawn here.
	withdrawn func(names.ClusterID) bool
	// asking is what this replica awaits, and of whom it has got that, and copies do not show it yet.
	asking  map[string]asking
	showing []string
	// asked is when others last had this member make a statement, of which the last one was askedAt. The next one is to be
	// later than askedLater.
	asked               time.Time
	askedAt, askedLater int64
}

// NewEpoch returns what remembers, and knows nothing else until Start has looked.
func NewEpoch(c client.WithWatch, namespace string, self names.ClusterID, memory epoch.Memory, log *slog.Logger) *Epoch {
	e := &Epoch{
		client: c, namespace: namespace, self: self, log: log, judge: epoch.NewJudge(memory),
		live: func(names.ClusterID) bool { return true }, withdrawn: func(names.ClusterID) bool { return false }, absent: newAbsence(), waiting: waiting{}, waitingOutdated: waiting{}, handlers: map[*func()]bool{}, looked: make(chan struct{}), wake: make(chan struct{}, 1), beats: newBell(),
	}
	e.metered = &informers.Metered{Label: names.LabelSourceCluster, Exempt: self.String()}
	e.Limit(quota.DefaultLimits, time.Now, nil)
	e.taps = e.newTaps()
	e.members = informers.NewTapped(c, e.taps.members, &brokerv1alpha1.MemberClusterList{}, &brokerv1alpha1.MemberCluster{},
		nil, client.InNamespace(namespace))
	informers.Clean(e.members, func(m *brokerv1alpha1.MemberCluster) {
		if m.Name != self.String() { // the own one is compared with what it should say
			m.Spec.OverBudget = validation.OverBudget(m.Spec.OverBudget)
		}
	})
	e.own = informers.NewTapped(c, e.taps.own, &coordinationv1.LeaseList{}, &coordinationv1.Lease{},
		nil, client.InNamespace(namespace), client.MatchingFields{metav1.ObjectNameField: self.String()})
	e.Permissions = newPermissions(c, e.taps.other, namespace, log)
	e.OnOwnMember(func() {
		if e.MembersSynced() && e.Member(self) == nil {
			e.mayBeLost()
		}
	})
	return e
}

// Limit has copies of other members' objects hold no more of each than a budget. over, or nil, is called where a member is over it.
// It is called before Start, and before there is a view.
func (e *Epoch) Limit(limits quota.Limits, now func() time.Time, over func(member string, u quota.Usage)) {
	e.metered.Budget = quota.NewBudget(limits, now, over)
}

// Usage returns how much of its budget each other member uses.
func (e *Epoch) Usage() map[string]quota.Usage { return e.metered.Budget.Usage() }

// Start looks into whatever happens until ctx is done.
func (e *Epoch) Start(ctx context.Context) {
	go e.members.RunWithContext(ctx)
	go e.own.RunWithContext(ctx)
	go func() { _ = e.Permissions.Start(ctx) }()
	pause := firstLook
	for ctx.Err() == nil {
		began := time.Now()
		settled := e.look(ctx)
		sleep(ctx, apart-time.Since(began), nil)
		if !settled {
			sleep(ctx, pause, e.wake)
			pause = min(2*pause, lastLook)
			continue
		}
		pause = firstLook
		select {
		case <-ctx.Done():
		case <-e.wake:
		}
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

// doubts tells whether an object of a member that is missing on the broker may still exist. It is called with mu held. A lost member,
// whose endpoints are withdrawn here, can't publish objects again, so its missing objects count as deleted.
func (e *Epoch) doubts(cluster names.ClusterID) bool {
	return e.judge.Doubts(cluster.String()) && !e.withdrawn(cluster)
}

// outdated tells whether the broker's objects of a member may be older than those that it published last. It is called with mu held.
func (e *Epoch) outdated(cluster names.ClusterID) bool {
	return e.judge.Outdated(cluster.String()) && !e.withdrawn(cluster)
}

// SetWithdrawn has f tell of which members the endpoints are withdrawn here. WithdrawnChanged is to be called when that changes.
func (e *Epoch) SetWithdrawn(f func(names.ClusterID) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.withdrawn = f
}

// WithdrawnChanged releases objects that were held for members that are lost now.
func (e *Epoch) WithdrawnChanged() {
	e.mu.Lock()
	again := e.released()
	e.mu.Unlock()
	call(again)
}

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

// holdHeartbeat is Hold for a member's heartbeat, also of one that is lost: without its heartbeat it would be taken for
// one that has left the clusterset, and not be lost any more.
func (e *Epoch) holdHeartbeat(cluster names.ClusterID, key any, again func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.judge.Doubts(cluster.String()) {
		return false
	}
	e.waiting.add(export{cluster: cluster}, key, again)
	return true
}

// holdOutdated is Hold for what is there, which may be from before what the member has published last.
func (e *Epoch) holdOutdated(service types.NamespacedName, cluster names.ClusterID, key any, again func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.outdated(cluster) {
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
	another := !r.Going && e.judge.Place() != "" && r.Place != "" && r.Place != e.judge.Place()
	if another {
		e.foundAt = time.Time{}
		e.begin("") // that the heartbeat is an older one there is no news, and who has published there since is not awaited again
	}
	receded := !another && e.judge.Receded(r)
	if receded {
		e.foundHere()
	}
	e.judge.Looked(began, r)
	settled = !r.Going && len(e.judge.Candidates(r)) == 0 && !e.judge.Unseen()
	again := e.released()
	select {
	case <-e.looked:
	default:
		close(e.looked)
	}
	e.mu.Unlock()
	if another {
		e.log.Warn("the clusterset's namespace on the broker was made anew: what other members export is kept until they have published it again")
	}
	if receded {
		e.tellOthers()
	}
	call(again)
	e.tell()
	return settled
}

func (e *Epoch) candidates(r epoch.Reading) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.showing = e.judge.Candidates(r)
	return e.showing
}

// released takes out what waits for members about whom there are no doubts, and tells of the records that
// were kept of theirs. It is called with mu held.
func (e *Epoch) released() []func() {
	believed := func(cluster names.ClusterID) bool { return !e.doubts(cluster) }
	again := e.waiting.takeAll(believed)
	again = append(again, e.waitingOutdated.takeAll(func(cluster names.ClusterID) bool { return !e.outdated(cluster) })...)
	for _, about := range e.absent.dropAll(believed) {
		if e.view != nil {
			again = append(again, e.view.announcement(about))
		}
	}
	return again
}

// read looks at the broker: first at the members, then at what tells whether it is what it was. If that is so, it was
// while the members were read.
func (e *Epoch) read(ctx context.Context, beat Beat) (epoch.Reading, error) {
	r := epoch.Reading{Members: map[string]epoch.Statement{}}
	members := &brokerv1alpha1.MemberClusterList{}
	if err := e.client.List(ctx, members, client.InNamespace(e.namespace)); err != nil {
		return r, fmt.Errorf("listing members: %w", err)
	}
	r.Version = version(members.ResourceVersion)
	var entry types.UID
	for _, m := range members.Items {
		if r.Members[m.Name] = statement(&m); m.Name == e.self.String() {
			entry = m.UID
		}
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
	if heartbeat != nil && e.at(r.Place) && e.compare(beat, heartbeat) {
		e.tellOthers()
	}
	if e.hidden(r) {
		return r, errHidden
	}
	r.Unheard = beat.version != "" && e.unheard(heartbeat, entry)
	return r, nil
}

// errHidden says that the clusterset's namespace could be read before and may not be now. It may be another one, in which
// others are not members yet.
var errHidden = errors.New("the clusterset's namespace may not be read any more")

// hiddenFor is how long that may be. A broker that is made anew may lack the right for some seconds; one that an older version
// has deployed again never has it, and is believed as it was before namespaces were read.
const hiddenFor = time.Minute

// hidden tells whether a reading lacks the place, which was known, and not for so long that it has to do without.
func (e *Epoch) hidden(r epoch.Reading) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case r.Going || r.Place != "" || e.judge.Place() == "":
		e.hiddenSince = time.Time{}
		return false
	case e.hiddenSince.IsZero():
		e.hiddenSince = time.Now()
	}
	return time.Since(e.hiddenSince) < hiddenFor
}

// placed returns the UID of the clusterset's namespace, "" where it may not be read, and whether it goes or is gone.
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
