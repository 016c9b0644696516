package servingcert

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestGood(t *testing.T) {
	pair, err := New("hub.test", now)
	if err != nil {
		t.Fatal(err)
	}
	address, err := New("127.0.0.1", now)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		pair Pair
		host string
		at   time.Duration
		want time.Duration
	}{
		{"new", pair, "hub.test", 0, 60 * 24 * time.Hour},
		{"new, for an address", address, "127.0.0.1", 0, 60 * 24 * time.Hour},
		{"later", pair, "hub.test", 59 * 24 * time.Hour, 24 * time.Hour},
		{"late", pair, "hub.test", 60 * 24 * time.Hour, 0},
		{"a clock that is behind", pair, "hub.test", -30 * time.Minute, 60*24*time.Hour + 30*time.Minute},
		{"too early", pair, "hub.test", -2 * time.Hour, 0},
		{"another host's", pair, "127.0.0.1", 0, 0},
		{"none", Pair{}, "hub.test", 0, 0},
		{"another's key", Pair{pair.Certificate, address.Key}, "hub.test", 0, 0},
	} {
		if got := tt.pair.Good(tt.host, now.Add(tt.at)); got != tt.want {
			t.Errorf("%s: good for %v, want %v", tt.name, got, tt.want)
		}
	}
}

// While a certificate is replaced, both are trusted; what was before these is not.
func TestBundle(t *testing.T) {
	var pairs []Pair
	for range 3 {
		pair, err := New("hub.test", now)
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, pair)
	}
	bundle := Bundle(pairs[0].Certificate, nil)
	if !bytes.Equal(bundle, pairs[0].Certificate) || !bytes.Equal(Bundle(pairs[0].Certificate, bundle), bundle) {
		t.Errorf("of one: %s", bundle)
	}
	bundle = Bundle(pairs[2].Certificate, Bundle(pairs[1].Certificate, bundle))
	if !bytes.Equal(Bundle(pairs[2].Certificate, bundle), bundle) {
		t.Errorf("it changes by itself: %s", bundle)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	for i, trusted := range []bool{false, true, true} {
		loaded, err := pairs[i].Load()
		if err != nil {
			t.Fatal(err)
		}
		_, err = loaded.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "hub.test", CurrentTime: now})
		if (err == nil) != trusted {
			t.Errorf("certificate %d: %v", i, err)
		}
	}
	if got := Bundle(pairs[0].Certificate, []byte("nonsense")); !bytes.Equal(got, pairs[0].Certificate) {
		t.Errorf("after nonsense: %s", got)
	}
}
