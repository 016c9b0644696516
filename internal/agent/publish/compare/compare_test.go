package compare

import (
	"fmt"
	"testing"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func TestEvery(t *testing.T) {
	for _, tt := range [][4]int{{3, 33, 0, 60}, {100, 500, 0, 60}, {500, 500, 0, 1500}, {500, 500, 10_000_000, 1617}} { // members, objects of each, of one, seconds
		objects := map[names.ClusterID]int{}
		for i := range tt[0] {
			objects[names.ClusterID(fmt.Sprint("c", i))] = tt[1]
		}
		if tt[2] > 0 {
			objects["c0"] = tt[2]
		}
		if got := int(every(tt[0], objects).Seconds()); got != tt[3] {
			t.Errorf("%d members with %d objects, one with %d: every %d s, want %d", tt[0], tt[1], tt[2], got, tt[3])
		}
	}
}
