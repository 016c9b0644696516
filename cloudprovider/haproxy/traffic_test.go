package haproxy

import (
	"context"
	"fmt"
	"testing"

	"github.com/atoll-mcs/atoll/cloudprovider"
)

// The traffic that HAProxy reports matches the clients' traffic.
func TestTraffic(t *testing.T) {
	w := newWorld(t)
	carries := func(when string, want cloudprovider.Traffic) {
		t.Helper()
		want.Protocol = "TCP"
		w.eventually(when, func() error {
			got, err := w.Traffic(context.Background())
			if err != nil || len(got) != 1 || got[0] != want {
				return fmt.Errorf("got %+v, want %+v: %w", got, want, err)
			}
			return nil
		})
	}
	carries("before there is a load balancer", cloudprovider.Traffic{})
	web, none := mcs("web"), mcs("none")
	w.must(w.apply(web, 0, 1, w.serve("a")))
	w.must(w.apply(none, 0, 1))
	conn, _, err := connect(web)
	w.must(err)
	carries("with a connection", cloudprovider.Traffic{Open: 1, Taken: 1})
	_ = conn.Close()
	if _, _, err := connect(none); err == nil {
		t.Error("a load balancer without backends accepted a connection")
	}
	carries("after one that failed", cloudprovider.Traffic{Taken: 2, Failed: 1})
}

func FuzzParseStatistics(f *testing.F) {
	f.Add("# pxname,svname,qcur,scur,stot,econ,\nx,FRONTEND,,2,7,,\nx,BACKEND,0,2,7,3,\n\n")
	f.Add("# pxname\nx\n")
	f.Add("Unknown command")
	f.Fuzz(func(t *testing.T, answer string) {
		got, err := parseStatistics(answer)
		if err != nil && (got.Open != 0 || got.Taken != 0 || got.Failed != 0) {
			t.Errorf("both figures and an error: %+v, %v", got, err)
		}
	})
}
