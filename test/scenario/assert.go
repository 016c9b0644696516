package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/broker/layout"
)

func assertVerbs() []Verb {
	return []Verb{
		{
			Name: "stdout", Args: "REGEXP", Min: 1, Max: 1, Pattern: true,
			Summary: "the last output has a line that the pattern matches",
			Check:   checkPattern,
			Run: func(_ context.Context, r *Run, args []string) error {
				pattern, err := compilePattern(args[0])
				if err != nil {
					return usageErrorf("%v", err)
				}
				if !pattern.MatchString(r.output) {
					return fmt.Errorf("no line matches %s", args[0])
				}
				return nil
			},
		},
		{
			Name: "lines", Args: "REGEXP", Min: 1, Max: 1, Pattern: true,
			Summary: "every line of the last output, of which there is one at least, matches the pattern: for what is asked of several clusters",
			Check:   checkPattern,
			Run: func(_ context.Context, r *Run, args []string) error {
				pattern, err := compilePattern(args[0])
				if err != nil {
					return usageErrorf("%v", err)
				}
				for line := range strings.Lines(strings.TrimSpace(r.output) + "\n") {
					if !pattern.MatchString(line) {
						return fmt.Errorf("%q does not match %s", strings.TrimSpace(line), args[0])
					}
				}
				return nil
			},
		},
		{
			Name: "save", Args: "NAME [REGEXP]", Min: 1, Max: 2, Always: true,
			Summary: "keeps the last output, without the space around it, or what the pattern matches in it, as `$NAME`, and as `$NAME_HOST` for URLs, with brackets around an IPv6 address; set already are `$LAB_CLUSTERS` (`c1,c2,c3`) and, by the IP family of c1, `$LAB_A`, the record type of its primary addresses (`A` or `AAAA`), and `$LAB_FAMILIES`, how many it has (`1` or `2`)",
			Check: func(_ *Script, _ bool, args []string) error {
				_, err := regexp.Compile(strings.Join(args[1:], ""))
				return err
			},
			Run: func(_ context.Context, r *Run, args []string) error { return r.save(args[0], args[1:]...) },
		},
		{
			Name: "equal", Args: "A B", Min: 2, Max: 2,
			Summary: "both words are the same and not empty",
			Run: func(_ context.Context, _ *Run, args []string) error {
				if args[0] != args[1] || args[0] == "" {
					return fmt.Errorf("%q and %q", args[0], args[1])
				}
				return nil
			},
		},
		{
			Name: "count", Args: "CLUSTERS RESOURCE[/NAME] [-n NS|-A] [-l SELECTOR] N", Min: 3, Max: -1,
			Summary: "each of the clusters holds exactly N such objects, without those on the broker that are withdrawn; `0` also needs an answer of the API server, so it is better than `!` with kubectl get",
			Check:   checkCount,
			Run:     runCount,
		},
		{
			Name: "condition", Args: "CLUSTERS RESOURCE NS/NAME TYPE=STATUS[/REASON]", Min: 4, Max: 4,
			Summary: "the object's `status.conditions` say so",
			Check: func(s *Script, _ bool, args []string) error {
				if _, _, ok := strings.Cut(args[2], "/"); !ok && args[2] != unknown {
					return fmt.Errorf("%q is not NS/NAME", args[2])
				}
				if _, _, ok := strings.Cut(args[3], "="); !ok && args[3] != unknown {
					return fmt.Errorf("%q is not TYPE=STATUS[/REASON]", args[3])
				}
				return s.checkClusters(args[0], true)
			},
			Run: runCondition,
		},
	}
}

// save keeps the last output as a variable, or what a pattern matches in it.
func (r *Run) save(name string, pattern ...string) error {
	value := strings.TrimSpace(r.output)
	if len(pattern) > 0 {
		compiled, err := regexp.Compile(pattern[0])
		if err != nil {
			return usageErrorf("%v", err)
		}
		if value = compiled.FindString(value); value == "" {
			return fmt.Errorf("nothing in the last output matches %q", pattern[0])
		}
	}
	r.env[name], r.env[name+"_HOST"] = value, value
	if address, err := netip.ParseAddr(value); err == nil && address.Is6() {
		r.env[name+"_HOST"] = "[" + value + "]"
	}
	return nil
}

func checkPattern(_ *Script, _ bool, args []string) error {
	if args[0] == unknown {
		return nil
	}
	_, err := compilePattern(args[0])
	return err
}

// compilePattern lets ^ and $ match at lines.
func compilePattern(text string) (*regexp.Regexp, error) {
	return regexp.Compile("(?m)" + text)
}

func checkCount(s *Script, _ bool, args []string) error {
	last := args[len(args)-1]
	if n, err := strconv.Atoi(last); last != unknown && (err != nil || n < 0) {
		return fmt.Errorf("%q is not a number of objects", last)
	}
	if strings.Contains(args[1], "/") && slices.ContainsFunc(args, func(arg string) bool { return arg == "-l" || strings.HasSuffix(arg, "selector") }) {
		return errors.New("kubectl takes a name or a selector, not both; metadata.name=… is a field selector")
	}
	return s.checkClusters(args[0], true)
}

func runCount(ctx context.Context, r *Run, args []string) error {
	want, err := strconv.Atoi(args[len(args)-1])
	if err != nil {
		return usageErrorf("%q is not a number of objects", args[len(args)-1])
	}
	get := append([]string{"get", "--ignore-not-found", "-o", "json"}, args[1:len(args)-1]...)
	r.output = ""
	var failed error
	for _, cluster := range r.clusters(args[0]) {
		result := r.kubectl(ctx, cluster, get...)
		r.output += result.Stderr
		found, err := standing(result.Stdout)
		if result.Err != nil {
			err = result.Err
		}
		for _, name := range found {
			r.output += name + "\n"
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", cluster, err))
		} else if len(found) != want {
			failed = errors.Join(failed, fmt.Errorf("%s: %d instead of %d", cluster, len(found), want))
		}
	}
	return failed
}

// standing returns the names of the objects in what kubectl get has written as JSON, a list, one object or nothing, but for those on a broker that
// their owner has withdrawn.
func standing(text string) (all []string, _ error) {
	if text == "" {
		return nil, nil
	}
	type object struct{ Metadata metav1.ObjectMeta }
	var parsed struct {
		object
		Items []object
	}
	if err := json.Unmarshal([]byte(text), &parsed); err != nil {
		return nil, fmt.Errorf("reading the objects: %w", err)
	}
	if parsed.Metadata.Name != "" {
		parsed.Items = []object{parsed.object}
	}
	for _, o := range parsed.Items {
		if !layout.Withdrawn(&o.Metadata) {
			all = append(all, o.Metadata.Name)
		}
	}
	return all, nil
}

// condition is the part of metav1.Condition that scripts ask for.
type condition struct {
	Type, Status, Reason, Message string
}

func runCondition(ctx context.Context, r *Run, args []string) error {
	namespace, name, _ := strings.Cut(args[2], "/")
	r.output = ""
	var failed error
	for _, cluster := range r.clusters(args[0]) {
		result := r.kubectl(ctx, cluster, "get", args[1], name, "-n", namespace, "-o", "json")
		err := result.Err
		if err == nil {
			err = r.checkCondition(result.Stdout, args[3])
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", cluster, err))
		}
	}
	return failed
}

// checkCondition looks for what is wanted in the object; the conditions that
// it has become the output.
func (r *Run) checkCondition(object, want string) error {
	var parsed struct {
		Status struct{ Conditions []condition }
	}
	if err := json.Unmarshal([]byte(object), &parsed); err != nil {
		return fmt.Errorf("reading the object: %w", err)
	}
	kind, state, _ := strings.Cut(want, "=")
	status, reason, _ := strings.Cut(state, "/")
	found := ""
	for _, c := range parsed.Status.Conditions {
		r.output += fmt.Sprintf("%s=%s/%s %s\n", c.Type, c.Status, c.Reason, c.Message)
		if c.Type != kind {
			continue
		}
		if c.Status == status && (reason == "" || c.Reason == reason) {
			return nil
		}
		found = fmt.Sprintf("%s=%s/%s (%s)", c.Type, c.Status, c.Reason, c.Message)
	}
	if found == "" {
		return fmt.Errorf("no condition %s", kind)
	}
	return fmt.Errorf("%s instead of %s", found, want)
}
