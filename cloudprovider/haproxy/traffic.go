package haproxy

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/cloudprovider"
)

// Traffic implements cloudprovider.Meter. It leaves out connections of workers that a reload replaced, and its
// counters restart with each reload.
func (p *Provider) Traffic(ctx context.Context) ([]cloudprovider.Traffic, error) {
	answer, err := query(ctx, p.process.worker(), "show stat -1 3 -1") // frontends and backends of all sections
	if err != nil && !reached(err) {
		return []cloudprovider.Traffic{{Protocol: corev1.ProtocolTCP}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading HAProxy's statistics: %w", err)
	}
	traffic, err := parseStatistics(answer)
	return []cloudprovider.Traffic{traffic}, err
}

// parseStatistics parses HAProxy's statistics (HAProxy's management guide, section 9.1, "CSV format").
func parseStatistics(answer string) (cloudprovider.Traffic, error) {
	sum := cloudprovider.Traffic{Protocol: corev1.ProtocolTCP}
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(answer, "# "))).ReadAll()
	if err != nil || len(rows) == 0 {
		return sum, errors.Join(errors.New("HAProxy's statistics cannot be read"), err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	number := func(row []string, name string) uint64 {
		i, has := column[name]
		if !has {
			return 0
		}
		n, _ := strconv.ParseUint(row[i], 10, 64) // fields that do not apply are empty
		return n
	}
	if _, has := column["svname"]; !has {
		return sum, fmt.Errorf("HAProxy's statistics cannot be read: unexpected first row %q", rows[0])
	}
	for _, row := range rows[1:] {
		switch row[column["svname"]] {
		case "FRONTEND":
			sum.Open += int(number(row, "scur"))
			sum.Taken += number(row, "stot")
		case "BACKEND":
			sum.Failed += number(row, "econ")
		}
	}
	return sum, nil
}
