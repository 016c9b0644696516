package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/atoll-mcs/atoll/lab"
)

// Script is a parsed and checked scenario.
type Script struct {
	Name  string // file name without its extension
	File  string // path as it appears in messages
	Shape Shape  // shape of the lab
	// Also lists more shapes, with other IP families or DNS, in which the script runs nightly.
	Also []Shape
	// Long marks a script that takes minutes and runs only nightly.
	Long  bool
	Files map[string][]byte // the archive's files, for "apply"

	also  string // as written
	lines []line
}

// Shape is the kind of lab that a script needs, from its "# lab:" comment. Default values of
// the advertise mode and the DNS are empty.
type Shape struct {
	lab.Shape      // without a name
	Empty     bool // Atoll is not installed, so that the script can install it; implies Bare
}

// DefaultShape is the shape for scripts without a "# lab:" comment.
var DefaultShape = Shape{Shape: lab.Shape{Clusters: 3, Nodes: 1, IPFamily: lab.IPv4}}

// Serves reports whether a lab of shape s serves a script that needs need. More clusters are
// allowed. Address families, node counts and advertise modes change the results of a script, so
// they must be equal. The DNS can be switched.
func (s Shape) Serves(need Shape) bool {
	if s.Clusters < need.Clusters || s.Nodes != need.Nodes || s.AdvertiseMode != need.AdvertiseMode || (s.Bare && !need.Bare) || (need.Empty && !s.Empty) || (need.Hub && !s.Hub) {
		return false
	}
	for i := range need.Clusters {
		if s.IPFamily.Of(i+1) != need.IPFamily.Of(i+1) {
			return false
		}
	}
	return true
}

// names lists the shape's member clusters.
func (s Shape) names() []string {
	names := make([]string, s.Clusters)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i+1)
	}
	return names
}

// env returns the variables of every script.
func (s Shape) env() map[string]string {
	record, families := "A", "1"
	switch s.IPFamily.Of(1) {
	case lab.IPv6:
		record = "AAAA"
	case lab.Dual:
		families = "2"
	}
	return map[string]string{"LAB_CLUSTERS": strings.Join(s.names(), ","), "LAB_A": record, "LAB_FAMILIES": families}
}

// A line is a title, or a chain of calls that may be repeated.
type line struct {
	number int
	text   string
	title  string // of a comment line
	repeat *repeat
	calls  []call
}

// A call is a verb with its arguments.
type call struct {
	negate bool
	verb   *Verb
	words  []word
}

// ParseFile parses and checks a script. The script can apply its own files, the files in the
// folder "manifests" beside it, and the generated files.
func ParseFile(file string) (*Script, error) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the script: %w", err)
	}
	shared, err := filepath.Glob(filepath.Join(filepath.Dir(file), "manifests", "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("reading the script: %w", err)
	}
	for _, name := range shared {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading the script: %w", err)
		}
		archive.Files = append(archive.Files, txtar.File{Name: filepath.Base(name), Data: data})
	}
	archive.Files = append(archive.Files, thousand(), burst())
	return parseArchive(file, archive)
}

// Parse checks the script in data; file is its name in messages.
func Parse(file string, data []byte) (*Script, error) {
	return parseArchive(file, txtar.Parse(data))
}

func parseArchive(file string, archive *txtar.Archive) (*Script, error) {
	script := &Script{
		Name:  strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)),
		File:  file,
		Shape: DefaultShape,
		Files: map[string][]byte{},
	}
	for _, f := range archive.Files {
		if _, ok := script.Files[f.Name]; ok {
			return nil, fmt.Errorf("%s: two files of the name %s", file, f.Name)
		}
		script.Files[f.Name] = f.Data
	}
	// Clusters' names are checked against the shape, so the shape comes first.
	texts := strings.Split(string(archive.Comment), "\n")
	for i, text := range texts {
		if err := script.parseHeader(text); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	if err := script.checkForms(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i, text := range texts {
		if err := script.parseLine(i+1, text); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	if len(script.lines) == 0 {
		return nil, fmt.Errorf("%s:1: the script does nothing", file)
	}
	return script, nil
}

var headerPattern = regexp.MustCompile(`^#\s*lab:(.*)$`)

// parseHeader parses the shape of a "# lab:" comment and ignores other lines.
func (s *Script) parseHeader(text string) error {
	match := headerPattern.FindStringSubmatch(strings.TrimSpace(text))
	if match == nil {
		return nil
	}
	for _, setting := range strings.Fields(match[1]) {
		key, value, _ := strings.Cut(setting, "=")
		if err := s.set(key, value); err != nil {
			return fmt.Errorf("lab: %w", err)
		}
	}
	return nil
}

// checkForms checks the IP families, and makes a shape of each word of "also".
func (s *Script) checkForms() error {
	if err := s.Shape.IPFamily.Check(s.Shape.Clusters); err != nil {
		return fmt.Errorf("lab: ip-family: %w", err)
	}
	for _, form := range strings.FieldsFunc(s.also, func(r rune) bool { return r == '|' }) {
		shape := s.Shape
		if form == string(lab.DNSStock) {
			shape.DNS = lab.DNSStock
		} else if shape.IPFamily = lab.IPFamily(form); shape.IPFamily.Check(shape.Clusters) != nil {
			return fmt.Errorf("lab: also: %w", shape.IPFamily.Check(shape.Clusters))
		}
		s.Also = append(s.Also, shape)
	}
	return nil
}

func (s *Script) set(key, value string) (err error) {
	shape := &s.Shape
	switch key {
	case "also":
		s.also = value // checkForms validates the value when the number of clusters is known
	case "long":
		s.Long, err = strconv.ParseBool(value)
	case "clusters":
		shape.Clusters, err = digit(value)
	case "nodes":
		shape.Nodes, err = digit(value)
	case "ip-family":
		shape.IPFamily = lab.IPFamily(value)
	case "bare":
		shape.Bare, err = strconv.ParseBool(value)
	case "empty":
		shape.Empty, err = strconv.ParseBool(value)
		shape.Bare = shape.Bare || shape.Empty
	case "hub":
		shape.Hub, err = strconv.ParseBool(value)
	case "advertise-mode":
		shape.AdvertiseMode, err = advertiseMode(value)
	case "dns":
		shape.DNS, err = choice(lab.ClusterDNS(value), lab.DNSAtoll, lab.DNSStock)
	default:
		return fmt.Errorf("unknown setting %q (known: clusters, nodes, ip-family, also, long, bare, empty, hub, advertise-mode, dns)", key)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// advertiseMode validates a mode, or a list of modes. It reduces a list of equal modes to one
// mode.
func advertiseMode(value string) (mode lab.AdvertiseMode, err error) {
	modes := strings.Split(value, ",")
	for _, one := range modes {
		if mode, err = choice(lab.AdvertiseMode(one), "pods", "cluster-ip"); err != nil {
			return "", err
		}
	}
	if len(slices.Compact(modes)) > 1 {
		mode = lab.AdvertiseMode(value)
	}
	return mode, nil
}

// choice validates a choice between two values and returns "" for the usual value.
func choice[T ~string](value, usual, other T) (T, error) {
	switch value {
	case usual:
		return "", nil
	case other:
		return value, nil
	}
	return "", fmt.Errorf("%q is not %s or %s", value, usual, other)
}

func digit(value string) (int, error) {
	number, err := strconv.Atoi(value)
	if err != nil || number < 1 || number > 9 {
		return 0, fmt.Errorf("%q is not a number from 1 to 9", value)
	}
	return number, nil
}

// calls returns all calls of the script.
func (s *Script) calls() (all []call) {
	for _, l := range s.lines {
		all = append(all, l.calls...)
	}
	return all
}

// wideVerbs break clusters, or read more than the scenario's namespaces.
var wideVerbs = []string{"batter", "cut", "fault", "follow", "heal", "kill", "pages", "queries", "rejoin", "rename", "reset", "restore", "snapshot", "start", "wipe"}

// looksBeyondItsNamespaces reports whether other scenarios' namespaces, while they are deleted,
// would disturb the script: it breaks clusters, counts in all namespaces, or runs atoll or
// helm.
func (s *Script) looksBeyondItsNamespaces() bool {
	return slices.ContainsFunc(s.calls(), func(c call) bool {
		return slices.Contains(wideVerbs, c.verb.Name) || slices.ContainsFunc(c.words, func(w word) bool { return w.String() == "-A" }) ||
			c.verb.Name == "on" && slices.Contains([]string{"atoll", "helm"}, c.words[1].String())
	})
}

// burst returns the file burst.yaml with the Services b0 to b9, which batter exports.
func burst() txtar.File {
	var b strings.Builder
	for i := range batterNames {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Service\nmetadata: {name: b%d}\nspec: {selector: {app: burst}, ports: [{port: 80}]}\n", i)
	}
	return txtar.File{Name: "burst.yaml", Data: []byte(b.String())}
}

// thousand returns the file thousand.yaml, which every script can apply: a headless import of
// 1,000 endpoints that no cluster exports. Scripts compare DNS responses with it.
func thousand() txtar.File {
	var b strings.Builder
	b.WriteString(`apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceImport
metadata: {name: thousand}
spec:
  type: Headless
  ports: [{name: web, port: 80, protocol: TCP}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: thousand-by-hand
  labels:
    multicluster.kubernetes.io/service-name: thousand
    multicluster.kubernetes.io/source-cluster: c9
    endpointslice.kubernetes.io/managed-by: by-hand
addressType: IPv4
ports: [{name: web, port: 8080, protocol: TCP}]
endpoints:
`)
	for i := range 1000 {
		fmt.Fprintf(&b, "- addresses: [10.9.%d.%d]\n", i/250, i%250+1)
	}
	return txtar.File{Name: "thousand.yaml", Data: []byte(b.String())}
}
