package status

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atoll-mcs/atoll/internal/doctor/report"
)

// The command prints each reason for waiting once, and again only if it changes. The result is
// the last status.
func TestSettled(t *testing.T) {
	refused := errors.New("connection refused")
	pods := report.Finding{Severity: report.Error, About: "atoll-agent", Message: "none of its pods is ready"}
	heartbeat := report.Finding{Severity: report.Pending, About: "cluster c1", Message: "it has not sent a heartbeat yet"}
	warning := report.Finding{Severity: report.Warning, About: "atoll-dns", Message: "1 of 2 pods are ready"}
	status := func(findings ...report.Finding) any { return report.Status{Cluster: "c1", Findings: findings} }
	for name, tt := range map[string]struct {
		looks    []any // a status or an error per attempt; the last repeats
		progress string
		findings int
		err      error
		took     time.Duration
	}{
		"all is done":                     {looks: []any{status(warning)}, findings: 1},
		"pods, then all":                  {looks: []any{status(pods, heartbeat), status(pods, heartbeat), status(warning, heartbeat), status()}, progress: "waiting for atoll-agent and 1 more: none of its pods is ready\nwaiting for cluster c1: it has not sent a heartbeat yet\n", took: 3 * time.Second},
		"no server":                       {looks: []any{refused}, progress: "waiting for the cluster: connection refused\n", err: refused, took: 10 * time.Second},
		"the cluster becomes unreachable": {looks: []any{status(heartbeat), refused}, progress: "waiting for cluster c1: it has not sent a heartbeat yet\nwaiting for the cluster: connection refused\n", findings: 1, took: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				began := time.Now()
				n := 0
				look := func(context.Context) (report.Status, error) {
					seen := tt.looks[min(n, len(tt.looks)-1)]
					n++
					if err, ok := seen.(error); ok {
						return report.Status{}, err
					}
					return seen.(report.Status), nil
				}
				var progress bytes.Buffer
				last, err := settled(ctx, look, &progress)
				if !errors.Is(err, tt.err) || len(last.Findings) != tt.findings || progress.String() != tt.progress || time.Since(began) != tt.took {
					t.Errorf("%v, %v, after %v, said:\n%s\nwant %d findings, %v, after %v, said:\n%s", last.Findings, err, time.Since(began), progress.String(), tt.findings, tt.err, tt.took, tt.progress)
				}
			})
		})
	}
}
