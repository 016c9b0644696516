package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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
		Summary: "the Prometheus in the pod, at port 9090, evaluates all queries of dashboards (`.json`) and files of rules in the repository, and has series of each metric in them; its own rules are in order",
		Check: func(s *Script, _ bool, args []string) error {
			_, err := s.checkPod(args[0])
			return err
		},
		Run: runQueries,
	}}
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
	address, stop, err := r.lab.PortForward(ctx, place.cluster, place.namespace, place.pod, "9090")
	if err != nil {
		return err
	}
	defer stop()
	p := prometheus("http://" + address + "/api/v1/")
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

// queriesIn are the queries of a dashboard, or of a file of rules.
func queriesIn(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usageErrorf("%v", err)
	}
	var content struct {
		Panels []struct{ Targets []struct{ Expr string } }
		Groups []struct{ Rules []struct{ Expr string } }
	}
	if err := yaml.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var queries []string
	for _, p := range content.Panels {
		for _, t := range p.Targets {
			queries = append(queries, t.Expr)
		}
	}
	for _, g := range content.Groups {
		for _, rule := range g.Rules {
			queries = append(queries, rule.Expr)
		}
	}
	if len(queries) == 0 || slices.Contains(queries, "") {
		return nil, fmt.Errorf("%s has no queries, or empty ones", file)
	}
	return queries, nil
}

// measured is a metric in a query: all of them have a name of several words, which no function and no label of ours begins like.
var measured = regexp.MustCompile(`\b(?:atoll|coredns|controller_runtime|leader_election|process)_\w+`)

// metricsOf are the metrics that queries ask for, sorted.
func metricsOf(queries []string) []string {
	metrics := measured.FindAllString(strings.Join(queries, "\n"), -1)
	slices.Sort(metrics)
	return slices.Compact(metrics)
}

// prometheus is the URL of one's API.
type prometheus string

// get asks for something, and reads the data of the answer.
func (p prometheus) get(ctx context.Context, path string, data any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, string(p)+path, nil)
	if err != nil {
		return err
	}
	request.Close = true // a kept connection would outlive the forwarding
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return errors.New(answer.Error)
	}
	return nil
}

// query evaluates one and returns how many series come out.
func (p prometheus) query(ctx context.Context, query string) (int, error) {
	var data struct{ Result []any }
	err := p.get(ctx, "query?query="+url.QueryEscape(query), &data)
	return len(data.Result), err
}

// rules returns an error unless there are rules that have been evaluated, and all could be.
func (p prometheus) rules(ctx context.Context) error {
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	if err := p.get(ctx, "rules", &data); err != nil {
		return err
	}
	if len(data.Groups) == 0 {
		return errors.New("it has no rules")
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
