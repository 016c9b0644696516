package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/atoll-mcs/atoll/lab/process"
)

// perf is what dnsperf says of one run.
type perf struct {
	perSecond float64
	cpu       float64 // µs of the server's processor time for each question
	latency   float64 // ms, the mean
	size      int     // of a reply, in bytes
}

// dnsperf asks a server as fast as it answers, with 100 questions on their way at a time.
func (b *bench) dnsperf(ctx context.Context, s *server, ask, file string, seconds float64) (perf, error) {
	before, err := s.cpuTime()
	if err != nil {
		return perf{}, err
	}
	out, err := b.dnsperfCommand(ctx, s, file, seconds).CombinedOutput()
	if err != nil {
		return perf{}, fmt.Errorf("running dnsperf: %w\n%s", err, out)
	}
	after, err := s.cpuTime()
	if err != nil {
		return perf{}, err
	}
	p, completed, err := readPerf(string(out), ask)
	if err != nil {
		return perf{}, fmt.Errorf("%s, %s: %w", s.name, ask, err)
	}
	p.cpu = float64((after - before).Microseconds()) / completed
	return p, nil
}

// cpuTime is what the server has used of processors' time.
func (s *server) cpuTime() (time.Duration, error) {
	return process.Record{PID: s.command.Process.Pid}.CPU()
}

func (b *bench) dnsperfCommand(ctx context.Context, s *server, file string, seconds float64) *exec.Cmd {
	host, port, _ := strings.Cut(s.address, ":")
	argv := []string{"dnsperf", "-s", host, "-p", port, "-d", file, "-l", strconv.FormatFloat(seconds, 'f', -1, 64), "-c", "10", "-T", "1", "-q", "100", "-t", "2"}
	if len(b.clientCPUs) > 0 {
		argv = append([]string{"taskset", "--cpu-list", strings.Trim(strings.ReplaceAll(fmt.Sprint(b.clientCPUs), " ", ","), "[]")}, argv...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second
	return cmd
}

var (
	perfQPS       = regexp.MustCompile(`Queries per second:\s+([\d.]+)`)
	perfCompleted = regexp.MustCompile(`Queries completed:\s+(\d+)`)
	perfLost      = regexp.MustCompile(`Queries lost:\s+(\d+)`)
	perfCodes     = regexp.MustCompile(`Response codes:\s+(\w+) \d+ \(100\.00%\)`)
	perfSize      = regexp.MustCompile(`response (\d+)`)
	perfLatency   = regexp.MustCompile(`Average Latency \(s\):\s+([\d.]+)`)
)

// readPerf reads dnsperf's statistics. A run in which an answer is missing or wrong counts
// for nothing.
func readPerf(output, ask string) (p perf, completed float64, err error) {
	found := func(r *regexp.Regexp) string {
		if m := r.FindStringSubmatch(output); m != nil {
			return m[1]
		}
		return ""
	}
	code := "NOERROR"
	if ask == askNone {
		code = "NXDOMAIN"
	}
	if found(perfLost) != "0" || found(perfCodes) != code {
		return p, 0, fmt.Errorf("dnsperf did not get right answers to all its questions:\n%s", output)
	}
	var errs [4]error
	p.perSecond, errs[0] = strconv.ParseFloat(found(perfQPS), 64)
	completed, errs[1] = strconv.ParseFloat(found(perfCompleted), 64)
	p.latency, errs[2] = strconv.ParseFloat(found(perfLatency), 64)
	p.size, errs[3] = strconv.Atoi(found(perfSize))
	p.latency *= 1000
	if err := errors.Join(errs[:]...); err != nil {
		return p, 0, fmt.Errorf("reading dnsperf's statistics: %w\n%s", err, output)
	}
	return p, completed, nil
}
