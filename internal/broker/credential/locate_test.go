package credential

import "testing"

// The broker is the only known API server with its certificate authority. Otherwise the token
// is sent only to the URL of the membership.
func TestLocate(t *testing.T) {
	m := Membership{Server: "https://broker:6443", CA: []byte("A\n")}
	for name, tt := range map[string]struct {
		known []APIServer
		want  string
	}{
		"known":     {[]APIServer{{"https://a", []byte("A")}, {"https://b", []byte("B")}}, "https://a"},
		"unknown":   {[]APIServer{{"https://b", []byte("B")}, {"https://c", nil}}, "https://broker:6443"},
		"ambiguous": {[]APIServer{{"https://a", []byte("A")}, {"https://b", []byte("A")}}, "https://broker:6443"},
		"twice":     {[]APIServer{{"https://a", []byte("A")}, {"https://a", nil}, {"https://a", []byte("A")}}, "https://a"},
	} {
		at := Locate(func(m Membership) string { return m.ByCA(tt.known) })
		if got := at.URL(m); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	if got := (Membership{}).ByCA([]APIServer{{"https://a", nil}}); got != "" {
		t.Errorf("without an authority: %s", got)
	}
	if got := At("https://x").URL(m); got != "https://x" || Locate(nil).URL(m) != m.Server || At("").URL(m) != m.Server {
		t.Errorf("given: %s", got)
	}
}
