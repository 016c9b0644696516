package bench

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/doctor/trial"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
)

// TestFigures: a figure for each measurement and cluster, in order, beside the duration of a
// request.
func TestFigures(t *testing.T) {
	s := samples{}
	for i := 1; i <= 3; i++ {
		s.add(sample{Export, "c2"}, time.Duration(3*i)*time.Millisecond)
		s.add(sample{Export, "c3"}, time.Duration(i)*time.Second)
		s.add(sample{Unexport, "c2"}, time.Millisecond)
	}
	got := s.figures([]string{"c3", "c2"}, []RoundTrip{{"c1", 1}, {"c2", 2}})
	if len(got) != 3 {
		t.Fatalf("%+v", got)
	}
	if f := got[0]; f.What != Export || f.To != "c3" || f.Took.P50 != 2000 || f.Took.N != 3 || f.Requests != 0 {
		t.Errorf("without the time of a request: %+v", f)
	}
	if f := got[1]; f.What != Export || f.To != "c2" || f.Took.P50 != 6 || f.Requests != 3 {
		t.Errorf("%+v", f)
	}
	if f := got[2]; f.What != Unexport || f.To != "c2" || f.Took.P50 != 1 || f.Requests != 0.5 {
		t.Errorf("%+v", f)
	}
}

func TestValidate(t *testing.T) {
	good := Options{Rounds: 1, Endpoints: 100, RoundTimeout: time.Second, Timeout: time.Minute}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*Options){
		"--rounds":       func(o *Options) { o.Rounds = 1001 },
		"from 1 to 1000": func(o *Options) { o.Rounds = 0 },
		"--endpoints":    func(o *Options) { o.Endpoints = 101 },
		"--pause":        func(o *Options) { o.Pause = time.Hour },
		"--wait":         func(o *Options) { o.RoundTimeout = 0 },
		"--timeout":      func(o *Options) { o.Timeout = -1 },
	} {
		o := good
		spoil(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestTogether: at least two clusters, each once, of the same clusterset.
func TestTogether(t *testing.T) {
	a := trial.Member{Context: "a", ID: "c1", Survey: &survey.Survey{Clusterset: "x"}}
	b := trial.Member{Context: "b", ID: "c2", Survey: &survey.Survey{Clusterset: "x"}}
	again, other, unread := a, b, trial.Member{Context: "c", ID: "c3"}
	again.Context = "a-again"
	other.Survey = &survey.Survey{Clusterset: "y"}
	for want, members := range map[string][]trial.Member{
		"two clusters":                  {a},
		"a and a-again":                 {a, b, again},
		"cluster c2 is in clusterset y": {a, other},
		"":                              {a, b, unread},
	} {
		err := together(members)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// TestAddresses: the requested number of distinct addresses of the family, all of them
// permitted by the broker's owner.
func TestAddresses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, err := ranges.Parse(strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"10.0.0.0/30", "10.1.0.0/16", "10.2.0.7/32", "fd00::/126", "fd01::/64", "255.255.255.252/30"}), 0, 4).Draw(t, "ranges"), " "))
		if err != nil {
			t.Fatal(err)
		}
		family := rapid.SampledFrom([]corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}).Draw(t, "family")
		restricted, n := rapid.Bool().Draw(t, "restricted"), rapid.IntRange(1, 101).Draw(t, "n")
		got, err := addresses(family, set, restricted, n)
		if err != nil {
			if !restricted {
				t.Fatal(err)
			}
			return
		}
		seen := map[string]bool{}
		for _, text := range got {
			a, err := netip.ParseAddr(text)
			if err != nil || seen[text] || a.Is4() != (family == corev1.IPv4Protocol) || restricted && !set.Contains(a) {
				t.Fatalf("%s is not in %v, or is a duplicate (%v)", text, set, err)
			}
			seen[text] = true
		}
		if len(seen) != n {
			t.Fatalf("%d of %d", len(seen), n)
		}
	})
	if _, err := addresses(corev1.IPv6Protocol, ranges.Set{}, true, 1); err == nil || !strings.Contains(err.Error(), "atoll broker members set") {
		t.Errorf("no permitted addresses: %v", err)
	}
}

// TestSight: await returns with the event that fulfills its condition, or with a timeout.
func TestSight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newImportWatcher()
		meta := metav1.ObjectMeta{Name: "web"}
		slice := endpointSlice(metav1.ObjectMeta{Name: "web-x"}, corev1.IPv4Protocol, []string{"10.0.0.1", "10.0.0.2"}, map[string]string{names.LabelServiceName: "web"})
		imported := &mcsv1beta1.ServiceImport{ObjectMeta: meta}
		s.note(imported, true)
		s.note(&corev1.ConfigMap{ObjectMeta: meta}, true)
		began := time.Now()
		go func() {
			<-time.After(time.Second)
			s.note(slice, true)
			addressed := imported.DeepCopy()
			addressed.Spec.IPs = []string{"10.9.9.9"}
			s.note(addressed, true)
		}()
		at, err := s.await(t.Context(), all(usable("web"), endpoints("web", "10.0.0.2", "10.0.0.1")))
		if err != nil || at.Sub(began) != time.Second {
			t.Errorf("seen after %v, %v", at.Sub(began), err)
		}
		for name, c := range map[string]struct {
			state state
			so    bool
		}{
			"an address that is not there": {endpoints("web", "10.0.0.3"), false},
			"of another Service":           {endpoints("api", "10.0.0.1"), false},
			"an existing object":           {gone("web"), false},
			"a missing object":             {gone("api"), true},
		} {
			if c.state(s.objects) != c.so {
				t.Errorf("%s: %v", name, !c.so)
			}
		}
		s.note(imported, false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := s.await(ctx, usable("web")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting for a deleted object: %v", err)
		}
	})
}
