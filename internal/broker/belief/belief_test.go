package belief

import "testing"

func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		name    string
		applied Applied
		found   *Found
		owner   Owner
		want    Verdict
	}{
		{"new", Applied{}, &Found{Revision: 1}, Owner{}, Apply},
		{"the same", Applied{7, true}, &Found{Revision: 7}, Owner{}, Apply},
		{"higher", Applied{7, true}, &Found{Revision: 8}, Owner{}, Apply},
		{"withdrawn", Applied{7, true}, &Found{8, true}, Owner{}, Remove},
		{"missing", Applied{7, true}, nil, Owner{}, Keep},
		{"lower", Applied{7, true}, &Found{Revision: 6}, Owner{}, Keep},
		{"lower and withdrawn", Applied{7, true}, &Found{6, true}, Owner{}, Keep},
		{"unreadable", Applied{7, true}, &Found{}, Owner{}, Keep},
		{"new and unreadable", Applied{}, &Found{}, Owner{}, Keep},
		{"ended, and lower", Applied{7, false}, &Found{Revision: 6}, Owner{}, Keep},
		{"ended, and again", Applied{7, false}, &Found{Revision: 8}, Owner{}, Apply},
		{"ended, and gone", Applied{7, false}, nil, Owner{}, Remove},
		{"missing, confirmed", Applied{7, true}, nil, Owner{Confirmed: true}, Remove},
		{"missing, confirmed, while something is refused", Applied{7, true}, nil, Owner{Confirmed: true, Refused: true}, Keep},
		{"lower, confirmed, while something is refused", Applied{7, true}, &Found{Revision: 6}, Owner{Confirmed: true, Refused: true}, Apply},
		{"lower, confirmed", Applied{7, true}, &Found{Revision: 6}, Owner{Confirmed: true}, Apply},
		{"lower and withdrawn, confirmed", Applied{7, true}, &Found{6, true}, Owner{Confirmed: true}, Remove},
		{"missing, lost", Applied{7, true}, nil, Owner{Lost: true}, Remove},
		{"there, lost", Applied{7, true}, &Found{Revision: 7}, Owner{Lost: true}, Apply},
		{"missing, and its export has ended", Applied{7, true}, nil, Owner{Ended: true}, Remove},
		{"lower, and its export has ended", Applied{7, true}, &Found{Revision: 6}, Owner{Ended: true}, Keep},
		{"removed", Applied{7, true}, &Found{Revision: 9}, Owner{Removed: true}, Remove},
	} {
		if got := Decide(tt.applied, tt.found, tt.owner); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A confirmation counts only while the broker still has the Lease of the confirmation, with a
// counter that is not lower.
func TestStands(t *testing.T) {
	by := Counter{Lease: "lease", Count: 7}
	if !by.Stands(by) || !by.Stands(Counter{Lease: "lease", Count: 8}) || by.Stands(Counter{Lease: "lease", Count: 6}) || by.Stands(Counter{Lease: "other", Count: 8}) {
		t.Error("Stands is wrong")
	}
}
