package dns

import (
	"strings"
	"testing"
)

const dnsperfOutput = `
Statistics:

  Queries sent:         24361
  Queries completed:    24361 (100.00%)
  Queries lost:         0 (0.00%)

  Response codes:       NOERROR 24361 (100.00%)
  Average packet size:  request 45, response 101
  Run time (s):         1.000434
  Queries per second:   24350.431913

  Average Latency (s):  0.004055 (min 0.000071, max 0.038437)
  Latency StdDev (s):   0.003150
`

func TestReadPerf(t *testing.T) {
	if rate, completed, err := readPerf(dnsperfOutput, askA); err != nil || rate != 24350.431913 || completed != 24361 {
		t.Errorf("got %v, %v, %v", rate, completed, err)
	}
	for name, output := range map[string]string{
		"other codes":  strings.Replace(dnsperfOutput, "NOERROR 24361 (100.00%)", "NOERROR 24360 (99.99%), SERVFAIL 1 (0.01%)", 1),
		"wrong code":   strings.Replace(dnsperfOutput, "NOERROR", "NXDOMAIN", 1),
		"lost queries": strings.Replace(dnsperfOutput, "lost:         0", "lost:         3", 1),
		"nothing":      "",
	} {
		if _, _, err := readPerf(output, askA); err == nil {
			t.Errorf("%s count", name)
		}
	}
	if _, _, err := readPerf(strings.Replace(dnsperfOutput, "NOERROR", "NXDOMAIN", 1), askNone); err != nil {
		t.Error(err)
	}
}
