package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"
)

// figuresVariable names a file to which scenarios append their measurements, as rows of a
// Markdown table.
const figuresVariable = "ATOLL_FIGURES"

// figures holds the measurements of a fault.
type figures struct {
	clients   []string // CLUSTER/NS/POD
	title     string
	began     time.Time
	ended     time.Time // end of the fault, zero before
	converged time.Time // time of convergence after the fault, zero before
}

func figureVerbs() []Verb {
	return []Verb{
		{
			Name: "requests", Args: "CLUSTER/NS/POD…", Min: 1, Max: -1, Always: true,
			Summary: "names pods that send requests continuously and log, for each request, the fractional Unix time and `ok` or `failed`",
			Check: func(s *Script, _ bool, args []string) error {
				for _, arg := range args {
					if err := s.checkPod(arg); err != nil {
						return err
					}
				}
				return nil
			},
			Run: func(_ context.Context, r *Run, args []string) error { r.figures.clients = args; return nil },
		},
		{
			Name: "fault", Args: "TITLE", Min: 1, Max: 1, Always: true,
			Summary: "marks the start of a fault; counts requests from now on",
			Run: func(_ context.Context, r *Run, args []string) error {
				r.figures.title, r.figures.began, r.figures.ended, r.figures.converged = args[0], time.Now(), time.Time{}, time.Time{}
				return nil
			},
		},
		{
			Name: "over", Args: "", Min: 0, Max: 0, Always: true,
			Summary: "marks the end of the fault; starts the clock for Atoll's reaction",
			Run:     func(_ context.Context, r *Run, _ []string) error { r.figures.ended = time.Now(); return nil },
		},
		{
			Name: "converged", Args: "", Min: 0, Max: 0, Always: true,
			Summary: "marks that the clusters have converged; stops the clock",
			Run:     func(_ context.Context, r *Run, _ []string) error { r.figures.converged = time.Now(); return nil },
		},
		{
			Name: "lost", Args: "N", Min: 1, Max: 1, Always: true,
			Summary: "checks that requests were sent since `fault`, and at most N failed; logs the figures and appends them to the file `$ATOLL_FIGURES`",
			Check: func(_ *Script, _ bool, args []string) error {
				if _, err := strconv.Atoi(args[0]); err != nil && args[0] != unknown {
					return fmt.Errorf("%q is no number", args[0])
				}
				return nil
			},
			Run: func(ctx context.Context, r *Run, args []string) error { return r.lost(ctx, args[0]) },
		},
		{
			Name: "batter", Args: "CLUSTER/UNIT NS xN", Min: 3, Max: 3, Always: true,
			Summary: "repeats N times: exports every second of the Services b0 to b9, and deletes the exports of the others, alternating; meanwhile kills and restarts the unit",
			Check: func(s *Script, negate bool, args []string) error {
				_, err := parseTimes(args[2])
				return errors.Join(checkUnit(s, negate, args[:1]), err)
			},
			Run: runBatter,
		},
	}
}

// lost counts requests.
func (r *Run) lost(ctx context.Context, most string) error {
	limit, err := strconv.Atoi(most)
	if err != nil {
		return usageErrorf("%q is no number", most)
	}
	f := &r.figures
	if f.began.IsZero() || len(f.clients) == 0 {
		return usageErrorf("no fault was started, or no client sends requests")
	}
	sent := 0
	var lost []string
	for _, client := range f.clients {
		pod, err := parsePod(client)
		if err != nil {
			return err
		}
		result := r.kubectl(ctx, pod.cluster, "logs", "-n", pod.namespace, pod.pod)
		if result.Err != nil {
			return result.Err
		}
		s, failures := countRequests(result.Stdout, f.began)
		if s == 0 {
			return fmt.Errorf("%s in %s has not sent any request", pod.pod, pod.cluster)
		}
		sent += s
		for _, failure := range failures {
			lost = append(lost, pod.cluster+": "+failure)
		}
	}
	took := "–"
	if !f.ended.IsZero() && !f.converged.IsZero() {
		took = fmt.Sprintf("%.1f s", f.converged.Sub(f.ended).Seconds())
	}
	row := fmt.Sprintf("| %s | %d | %d | %s |", f.title, sent, len(lost), took)
	r.logf("%s", row)
	if name := os.Getenv(figuresVariable); name != "" {
		file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(file, row)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	if len(lost) > limit {
		return fmt.Errorf("%d of %d requests had no answer, the first: %s", len(lost), sent, lost[0])
	}
	return nil
}

// countRequests parses a client's log and returns the number of requests since a time and the
// failed requests.
func countRequests(log string, since time.Time) (sent int, failed []string) {
	for text := range strings.Lines(log) {
		stamp, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
		seconds, err := strconv.ParseFloat(stamp, 64)
		if err != nil || time.UnixMicro(int64(seconds*1e6)).Before(since) {
			continue
		}
		sent++
		if !strings.HasPrefix(rest, "ok") {
			failed = append(failed, strings.TrimSpace(text))
		}
	}
	return sent, failed
}

// batterNames is the number of Services that batter exports.
const batterNames = 10

func runBatter(ctx context.Context, r *Run, args []string) error {
	cluster, _, _ := strings.Cut(args[0], "/")
	times, err := parseTimes(args[2])
	if err != nil {
		return err
	}
	for round := range times {
		changed := make(chan error, 1)
		go func() { changed <- r.changeExports(ctx, cluster, args[1], round) }()
		select {
		case <-time.After(time.Duration(rand.Int64N(int64(600 * time.Millisecond)))):
		case <-ctx.Done():
		}
		r.killed[args[0]] = true
		err := r.lab.Kill(ctx, args[0])
		if err == nil {
			err = r.startUnit(ctx, args[0])
		}
		if err := errors.Join(err, <-changed); err != nil {
			return err
		}
	}
	return nil
}

// changeExports exports every second Service and unexports the others. The next round swaps the
// halves.
func (r *Run) changeExports(ctx context.Context, cluster, namespace string, round int) error {
	var wanted bytes.Buffer
	unwanted := []string{"delete", "serviceexports", "-n", namespace, "--ignore-not-found", "--wait=false"}
	for i := range batterNames {
		name := fmt.Sprintf("b%d", i)
		if (i+round)%2 == 0 {
			wanted.WriteString(serviceExport(namespace, name))
		} else {
			unwanted = append(unwanted, name)
		}
	}
	apply := Command{Program: "kubectl", Args: []string{"apply", "-f", "-"}, Stdin: wanted.String()}
	if err := r.do(ctx, cluster, apply).Err; err != nil {
		return err
	}
	return r.kubectl(ctx, cluster, unwanted...).Err
}
