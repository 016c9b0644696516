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

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/broker/layout"
)

func assertVerbs() []Verb {
	return []Verb{
		patternVerb("stdout", "checks that a line of the last output matches", func(pattern *regexp.Regexp, output string) error {
			if !pattern.MatchString(output) {
				return errors.New("no line matches")
			}
			return nil
		}),
		patternVerb("lines", "checks that the last output is not empty and every line matches; for output of several clusters",
			func(pattern *regexp.Regexp, output string) error {
				for line := range strings.Lines(strings.TrimSpace(output) + "\n") {
					if !pattern.MatchString(line) {
						return fmt.Errorf("%q does not match", strings.TrimSpace(line))
					}
				}
				return nil
			}),
		{
			Name: "save", Args: "NAME [REGEXP]", Min: 1, Max: 2, Always: true,
			Summary: "stores the trimmed last output, or the part that matches REGEXP, in `$NAME`. For URLs, `$NAME_HOST` has brackets around IPv6 addresses. Predefined: `$LAB_CLUSTERS` (`c1,c2,c3`); `$LAB_A`, the record type of c1's primary addresses (`A` or `AAAA`); `$LAB_FAMILIES`, the number of c1's IP families (`1` or `2`)",
			Check: func(_ *Script, _ bool, args []string) error {
				_, err := regexp.Compile(strings.Join(args[1:], ""))
				return err
			},
			Run: func(_ context.Context, r *Run, args []string) error { return r.save(args[0], args[1:]...) },
		},
		{
			Name: "equal", Args: "A B", Min: 2, Max: 2,
			Summary: "checks that both words are equal and not empty",
			Run: func(_ context.Context, _ *Run, args []string) error {
				if args[0] != args[1] || args[0] == "" {
					return fmt.Errorf("%q and %q", args[0], args[1])
				}
				return nil
			},
		},
		{
			Name: "count", Args: "CLUSTERS RESOURCE[/NAME] [-n NS|-A] [-l SELECTOR] N", Min: 3, Max: -1,
			Summary: "checks that each cluster has exactly N such objects, ignoring withdrawn objects on the broker. `0` is safer than `!` with kubectl get: the API server must respond",
			Check:   checkCount,
			Run:     runCount,
		},
		{
			Name: "condition", Args: "CLUSTERS RESOURCE NS/NAME TYPE=STATUS[/REASON]", Min: 4, Max: 4,
			Summary: "checks that the object has this condition",
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

// patternVerb compares the last output with a pattern.
func patternVerb(name, summary string, compare func(pattern *regexp.Regexp, output string) error) Verb {
	return Verb{
		Name: name, Args: "REGEXP", Min: 1, Max: 1, Pattern: true, Summary: summary,
		Check: func(_ *Script, _ bool, args []string) error {
			_, err := compilePattern(args[0])
			return err
		},
		Run: func(_ context.Context, r *Run, args []string) error {
			pattern, err := compilePattern(args[0])
			if err != nil {
				return usageErrorf("%v", err)
			}
			if err := compare(pattern, r.output); err != nil {
				return fmt.Errorf("%w %s", err, args[0])
			}
			return nil
		},
	}
}

// save stores the last output in a variable, or the first match of a pattern in the output.
func (r *Run) save(name string, pattern ...string) error {
	value := strings.TrimSpace(r.output)
	if len(pattern) > 0 {
		compiled, err := regexp.Compile(pattern[0])
		if err != nil {
			return usageErrorf("%v", err)
		}
		if value = compiled.FindString(value); value == "" {
			return fmt.Errorf("the last output does not match %q", pattern[0])
		}
	}
	r.env[name], r.env[name+"_HOST"] = value, value
	if address, err := netip.ParseAddr(value); err == nil && address.Is6() {
		r.env[name+"_HOST"] = "[" + value + "]"
	}
	return nil
}

// compilePattern makes ^ and $ match at line boundaries.
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
	return r.inTurn(args[0], func(cluster string) error {
		result := r.kubectl(ctx, cluster, get...)
		r.output += result.Stderr
		if result.Err != nil {
			return result.Err
		}
		found, err := standing(result.Stdout)
		for _, name := range found {
			r.output += name + "\n"
		}
		if err == nil && len(found) != want {
			err = fmt.Errorf("%d instead of %d", len(found), want)
		}
		return err
	})
}

// standing returns the names of the objects in kubectl's JSON output: a list, one object or
// nothing. Withdrawn objects on a broker do not count.
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

func runCondition(ctx context.Context, r *Run, args []string) error {
	namespace, name, _ := strings.Cut(args[2], "/")
	return r.inTurn(args[0], func(cluster string) error {
		result := r.kubectl(ctx, cluster, "get", args[1], name, "-n", namespace, "-o", "json")
		if result.Err != nil {
			return result.Err
		}
		return r.checkCondition(result.Stdout, args[3])
	})
}

// checkCondition checks that the object has the wanted condition. The object's conditions
// become the output.
func (r *Run) checkCondition(object, want string) error {
	var parsed struct {
		Status struct{ Conditions []metav1.Condition }
	}
	if err := json.Unmarshal([]byte(object), &parsed); err != nil {
		return fmt.Errorf("reading the object: %w", err)
	}
	for _, c := range parsed.Status.Conditions {
		r.output += fmt.Sprintf("%s=%s/%s %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	kind, state, _ := strings.Cut(want, "=")
	status, reason, _ := strings.Cut(state, "/")
	c := meta.FindStatusCondition(parsed.Status.Conditions, kind)
	if c == nil {
		return fmt.Errorf("no condition %s", kind)
	}
	if string(c.Status) != status || reason != "" && c.Reason != reason {
		return fmt.Errorf("%s=%s/%s (%s) instead of %s", c.Type, c.Status, c.Reason, c.Message, want)
	}
	return nil
}
