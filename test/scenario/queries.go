package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/atoll-mcs/atoll/test/charts"
)

func queryVerbs() []Verb {
	return []Verb{{
		Name: "queries", Args: "CLUSTER/NS/POD FILE…", Min: 2, Max: -1,
		Summary: "checks that the pod's Prometheus (port 9090) can evaluate all queries in these dashboards (`.json`) and rule files, has series for all their metrics, and has only healthy rules",
		Check:   func(s *Script, _ bool, args []string) error { return s.checkPod(args[0]) },
		Run:     runQueries,
	}, {
		Name: "metric", Args: "CLUSTERS SERIES", Min: 2, Max: 2,
		Summary: "prints the value of a series, such as `a_total{b=\"c\"}`, of each cluster's leading agent, in lines `CLUSTER VALUE`",
		Check:   func(s *Script, _ bool, args []string) error { return s.checkClusters(args[0], false) },
		Run:     runMetric,
	}}
}

// runMetric reads the leader's metrics, because only the leader counts its work.
func runMetric(ctx context.Context, r *Run, args []string) error {
	series := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(args[1]) + ` (\S+)$`)
	r.output = ""
	for _, cluster := range r.clusters(args[0]) {
		pod, err := r.leader(ctx, cluster)
		if err != nil {
			return err
		}
		metrics := r.kubectl(ctx, cluster, "get", "--raw", "/api/v1/namespaces/atoll-system/pods/"+pod+":8080/proxy/metrics")
		if metrics.Err != nil {
			return metrics.Err
		}
		value := series.FindStringSubmatch(metrics.Stdout)
		if value == nil {
			return fmt.Errorf("agent %s of %s has no series %s", pod, cluster, args[1])
		}
		r.output += cluster + " " + value[1] + "\n"
	}
	return nil
}

func runQueries(ctx context.Context, r *Run, args []string) error {
	var queries []string
	for _, file := range args[1:] {
		found, err := queriesIn(filepath.Join(charts.Root(), file))
		if err != nil {
			return err
		}
		queries = append(queries, found...)
	}
	place, err := parsePod(args[0])
	if err != nil {
		return err
	}
	found := r.kubectl(ctx, place.cluster, "get", "pod", place.pod, "-n", place.namespace, "-o", "jsonpath={.status.podIP}")
	if found.Err != nil {
		return found.Err
	}
	p := prometheus{run: r, cluster: place.cluster, url: "http://" + net.JoinHostPort(found.Stdout, "9090") + "/api/v1/"}
	var failed []error
	for _, query := range queries {
		if _, err := p.query(ctx, query); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", query, err))
		}
	}
	metrics := metricsOf(queries)
	for _, metric := range metrics {
		if n, err := p.query(ctx, "count("+metric+")"); err != nil || n == 0 {
			failed = append(failed, errors.Join(fmt.Errorf("there are no series of %s", metric), err))
		}
	}
	r.output = fmt.Sprintf("%d queries of %d metrics\n", len(queries), len(metrics))
	return errors.Join(append(failed, p.rules(ctx))...)
}

// queriesIn returns the queries of a dashboard or of a file of rules.
func queriesIn(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usageErrorf("%v", err)
	}
	type list []struct{ Targets, Rules []struct{ Expr string } }
	var content struct{ Panels, Groups list }
	if err := yaml.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var queries []string
	for _, p := range slices.Concat(content.Panels, content.Groups) {
		for _, query := range slices.Concat(p.Targets, p.Rules) {
			queries = append(queries, strings.ReplaceAll(query.Expr, "$cluster", ".*")) // as the dashboard's variable, with all clusters
		}
	}
	if len(queries) == 0 || slices.Contains(queries, "") {
		return nil, fmt.Errorf("%s has no queries, or empty ones", file)
	}
	return queries, nil
}

// measured matches a metric in a query. No function and no label of Atoll begins like a metric.
var measured = regexp.MustCompile(`\b(?:atoll|coredns|controller_runtime|leader_election|process)_\w+`)

// metricsOf returns the sorted metrics of queries.
func metricsOf(queries []string) []string {
	metrics := measured.FindAllString(strings.Join(queries, "\n"), -1)
	slices.Sort(metrics)
	return slices.Compact(metrics)
}

// prometheus is the API of a Prometheus server, queried from a node of its cluster.
type prometheus struct {
	run          *Run
	cluster, url string
}

// get sends an API request and decodes the data of the response.
func (p prometheus) get(ctx context.Context, data any, path string, parameters ...string) error {
	result := p.run.do(ctx, p.cluster, Command{Program: "curl", Args: append(parameters, "-sS", "--get", "--noproxy", "*", "--max-time", "10", p.url+path)})
	if result.Err != nil {
		return result.Err
	}
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.Unmarshal([]byte(result.Stdout), &answer); err != nil {
		return fmt.Errorf("%w: %s", err, result.Stdout)
	}
	if answer.Status != "success" {
		return errors.New(answer.Error)
	}
	return nil
}

// query evaluates a query and returns the number of series.
func (p prometheus) query(ctx context.Context, query string) (int, error) {
	var data struct{ Result []any }
	err := p.get(ctx, &data, "query", "--data-urlencode", "query="+query)
	return len(data.Result), err
}

// rules returns an error unless Prometheus has rules and has evaluated all without an error.
func (p prometheus) rules(ctx context.Context) error {
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	if err := p.get(ctx, &data, "rules"); err != nil {
		return err
	}
	if len(data.Groups) == 0 {
		return errors.New("no rules in Prometheus")
	}
	var failed []error
	for _, g := range data.Groups {
		for _, rule := range g.Rules {
			if rule.Health != "ok" {
				failed = append(failed, fmt.Errorf("rule %s is %s: %s", rule.Name, rule.Health, rule.LastError))
			}
		}
	}
	return errors.Join(failed...)
}
