package probe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestJudge(t *testing.T) {
	for name, tc := range map[string]struct {
		judge         Judge
		results, want string // + and -; ! where something is reported
	}{
		"thresholds of one":   {Judge{Success: 1, Failure: 1}, "++--++", "!.!!!."},
		"three failures":      {Judge{Success: 1, Failure: 3}, "+--+-----", "!.....!!!"},
		"two successes":       {Judge{Success: 2, Failure: 1}, "+-++-++", ".!.!!.!"},
		"failing from before": {Judge{Success: 1, Failure: 2}, "---+", ".!!!"},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			for _, r := range tc.results {
				if tc.judge.Count(r == '+') {
					got.WriteByte('!')
				} else {
					got.WriteByte('.')
				}
			}
			if got.String() != tc.want {
				t.Errorf("%s: got %s, want %s", tc.results, got.String(), tc.want)
			}
		})
	}
}

func TestRun(t *testing.T) {
	type event struct {
		At time.Duration
		OK bool
	}
	for name, tc := range map[string]struct {
		probe      corev1.Probe
		untilFirst bool
		wellAt     time.Duration // from then on the check succeeds
		sickAt     time.Duration // and from then on no more
		want       []event
	}{
		"as the probe says": {corev1.Probe{InitialDelaySeconds: 2, PeriodSeconds: 10, FailureThreshold: 1}, false, 5 * time.Second, 25 * time.Second,
			[]event{{2 * time.Second, false}, {12 * time.Second, true}, {32 * time.Second, false}}},
		"eager until the first success": {corev1.Probe{PeriodSeconds: 10, FailureThreshold: 1}, true, 2 * time.Second, 25 * time.Second,
			[]event{{2 * time.Second, true}, {32 * time.Second, false}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 35*time.Second)
				defer cancel()
				var got []event
				Run(ctx, &tc.probe, tc.untilFirst, func(context.Context) error {
					if at := time.Since(began); at < tc.wellAt || at >= tc.sickAt {
						return errors.New("sick")
					}
					return nil
				}, func(err error) { got = append(got, event{time.Since(began), err == nil}) })
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestRunLimitsEachCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		Run(ctx, &corev1.Probe{TimeoutSeconds: 3, FailureThreshold: 1}, false, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, func(error) { cancel() })
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func target(t *testing.T, address string) (Target, intstr.IntOrString) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	number := intstr.Parse(port)
	ports := []corev1.ContainerPort{{Name: "web", ContainerPort: number.IntVal}}
	return Target{Host: host, Ports: ports, Dial: (&net.Dialer{}).DialContext}, number
}

func TestHTTPGet(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/ok" && r.URL.RawQuery == "a=b" && r.Header.Get("X-Key") == "v" && r.Host == "named":
		case r.URL.Path == "/elsewhere":
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		default:
			w.WriteHeader(http.StatusTeapot)
		}
	})
	headers := []corev1.HTTPHeader{{Name: "X-Key", Value: "v"}, {Name: "Host", Value: "named"}}
	for scheme, server := range map[corev1.URIScheme]*httptest.Server{
		corev1.URISchemeHTTP: httptest.NewServer(handler), corev1.URISchemeHTTPS: httptest.NewTLSServer(handler),
	} {
		defer server.Close()
		to, port := target(t, server.Listener.Addr().String())
		for _, tc := range []struct {
			action corev1.HTTPGetAction
			ok     bool
		}{
			{corev1.HTTPGetAction{Path: "/ok?a=b", Port: port, HTTPHeaders: headers}, true},
			{corev1.HTTPGetAction{Path: "/ok?a=b", Port: intstr.FromString("web"), HTTPHeaders: headers}, true},
			{corev1.HTTPGetAction{Path: "/elsewhere", Port: port}, true},
			{corev1.HTTPGetAction{Path: "/other", Port: port}, false},
			{corev1.HTTPGetAction{Path: "/ok", Port: intstr.FromString("unknown")}, false},
		} {
			tc.action.Scheme = scheme
			if err := to.HTTPGet(t.Context(), &tc.action); (err == nil) != tc.ok {
				t.Errorf("%s %+v: %v", scheme, tc.action, err)
			}
		}
	}
}

func TestTCPAndGRPC(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	status := health.NewServer()
	healthpb.RegisterHealthServer(server, status)
	go server.Serve(listener)
	defer server.Stop()
	to, port := target(t, listener.Addr().String())
	if err := to.TCP(t.Context(), &corev1.TCPSocketAction{Port: port}); err != nil {
		t.Error(err)
	}
	if err := to.GRPC(t.Context(), &corev1.GRPCAction{Port: port.IntVal}); err != nil {
		t.Error(err)
	}
	status.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING)
	if err := to.GRPC(t.Context(), &corev1.GRPCAction{Port: port.IntVal}); err == nil {
		t.Error("a server that does not serve was well")
	}
	server.Stop()
	if err := to.TCP(t.Context(), &corev1.TCPSocketAction{Port: port}); err == nil {
		t.Error("a closed port was well")
	}
}
