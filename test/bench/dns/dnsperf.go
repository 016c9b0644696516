package dns

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// dnsperf queries a server as fast as it responds, with 100 queries in flight. It returns the
// responses per second, and the server's processor time for each response, in µs.
func (b *bench) dnsperf(ctx context.Context, s *server, ask, file string) (rate, cpu float64, err error) {
	before, err := s.Record.CPU()
	if err != nil {
		return 0, 0, err
	}
	out, err := b.dnsperfCommand(ctx, s, file, b.Seconds).CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("running dnsperf: %w\n%s", err, out)
	}
	after, err := s.Record.CPU()
	if err != nil {
		return 0, 0, err
	}
	rate, completed, err := readPerf(string(out), ask)
	if err != nil {
		return 0, 0, fmt.Errorf("%s, %s: %w", s.name, ask, err)
	}
	return rate, float64((after - before).Microseconds()) / completed, nil
}

func (b *bench) dnsperfCommand(ctx context.Context, s *server, file string, seconds float64) *exec.Cmd {
	host, port, _ := strings.Cut(s.address, ":")
	argv := []string{"dnsperf", "-s", host, "-p", port, "-d", file, "-l", fmt.Sprint(seconds), "-c", "10", "-T", "1", "-q", "100", "-t", "2"}
	if b.clientCPU != "" {
		argv = append([]string{"taskset", "--cpu-list", b.clientCPU}, argv...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second
	return cmd
}

var statistics = regexp.MustCompile(`(?s)Queries completed:\s+(\d+).*Queries lost:\s+0 .*` +
	`Response codes:\s+(\w+) \d+ \(100\.00%\).*Queries per second:\s+([\d.]+)`)

// readPerf parses dnsperf's statistics. It fails if a response is missing or wrong.
func readPerf(output, ask string) (rate, completed float64, err error) {
	code := "NOERROR"
	if ask == askNone {
		code = "NXDOMAIN"
	}
	found := statistics.FindStringSubmatch(output)
	if found == nil || found[2] != code {
		return 0, 0, fmt.Errorf("dnsperf did not get right answers to all its questions:\n%s", output)
	}
	completed, completedErr := strconv.ParseFloat(found[1], 64)
	rate, rateErr := strconv.ParseFloat(found[3], 64)
	return rate, completed, errors.Join(rateErr, completedErr)
}
