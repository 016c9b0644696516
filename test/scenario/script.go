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

// Script is one parsed and checked scenario.
type Script struct {
	Name  string // file name without its extension
	File  string // path as it appears in messages
	Shape Shape  // the lab that it needs
	// Also are labs of other IP families or DNS that it runs in nightly.
	Also []Shape
	// Long says that it takes minutes, and runs only nightly.
	Long  bool
	Files map[string][]byte // the archive's files, for "apply"

	also  string // as written
	lines []line
}

// Shape is the kind of lab that a script needs, from its "# lab:" comment. The usual advertise mode and DNS are empty.
type Shape struct {
	lab.Shape      // without a name
	Empty     bool // nothing of Atoll's may be there, so that the script can install it; Bare is set, too
}

// DefaultShape is what a script gets that has no "# lab:" comment.
var DefaultShape = Shape{Shape: lab.Shape{Clusters: 3, Nodes: 1, IPFamily: lab.IPv4}}

// Serves says whether a lab of shape s will do for a script that asks for
// need. More clusters are welcome; other address families, node counts and
// advertise modes change what a script sees, so they must be equal. The DNS is
// changed where it is another.
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

// env are the variables that every script has.
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

// A line is one line of a script that does something: a title, or a chain of
// calls, repeated or not.
type line struct {
	number int
	text   string
	title  string // of a comment line
	repeat *repeat
	calls  []call
}

// A call is one verb with its arguments.
type call struct {
	negate bool
	verb   *Verb
	words  []word
}

// ParseFile reads and checks the script in the file. Besides its own files it
// can apply those in the folder "manifests" beside it, and the generated ones.
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

// parseHeader takes the shape from a "# lab:" comment; other lines it leaves.
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
		s.also = value // checkForms checks it, and the IP families, when the number of clusters is known
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

// advertiseMode checks a mode, or a list of modes, and writes equal ones as one.
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

// choice checks a choice between two, and writes the usual one as none.
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

// calls are all calls in the script.
func (s *Script) calls() (all []call) {
	for _, l := range s.lines {
		all = append(all, l.calls...)
	}
	return all
}

// wideVerbs break clusters, or look at more of them than the scenario's namespaces.
var wideVerbs = []string{"batter", "cut", "fault", "follow", "heal", "kill", "queries", "rejoin", "rename", "reset", "restore", "snapshot", "start", "wipe"}

// looksBeyondItsNamespaces says whether it matters to the script that clusters still delete other scenarios' namespaces: it breaks clusters, counts
// in all namespaces, or runs the command atoll.
func (s *Script) looksBeyondItsNamespaces() bool {
	return slices.ContainsFunc(s.calls(), func(c call) bool {
		return slices.Contains(wideVerbs, c.verb.Name) || slices.ContainsFunc(c.words, func(w word) bool { return w.String() == "-A" }) ||
			c.verb.Name == "on" && slices.Contains([]string{"atoll", "helm"}, c.words[1].String())
	})
}

// burst returns the file burst.yaml: the Services b0 to b9, which batter exports.
func burst() txtar.File {
	var b strings.Builder
	for i := range batterNames {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Service\nmetadata: {name: b%d}\nspec: {selector: {app: burst}, ports: [{port: 80}]}\n", i)
	}
	return txtar.File{Name: "burst.yaml", Data: []byte(b.String())}
}

// thousand returns the file thousand.yaml, which every script can apply: a headless import of
// 1,000 endpoints that no cluster exports, to compare DNS answers. It is generated because its
// lines differ by a number only.
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
