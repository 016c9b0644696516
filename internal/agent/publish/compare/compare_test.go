package compare

import "testing"

func TestEvery(t *testing.T) {
	for _, tt := range [][3]int{{3, 100, 60}, {100, 50_000, 60}, {500, 250_000, 1500}} { // members, objects of all, seconds
		if got := int(every(tt[0], tt[1]).Seconds()); got != tt[2] {
			t.Errorf("%d members with %d objects: every %d s, want %d", tt[0], tt[1], got, tt[2])
		}
	}
}
