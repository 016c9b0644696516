package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestMainStatus checks the exit status of command lines, and that standard output contains
// only data.
func TestMainStatus(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for line, want := range map[string]struct {
		status         int
		stdout, stderr string // part of the output; "" for no output
	}{
		"":                             {0, "Try Atoll on this machine", ""},
		"--help":                       {0, "Try Atoll on this machine", ""},
		"lab":                          {0, "lab up --clusters 2", ""},
		"lab up --help":                {0, "--control-plane-only", ""},
		"version":                      {0, "lab kubernetes  v1.", ""},
		"nonsense":                     {64, "", "atoll --help"},
		"staus":                        {64, "", `Did you mean "atoll status"?`},
		"get exprots":                  {64, "", `Did you mean "atoll get exports"?`},
		"lab nonsense":                 {64, "", "atoll lab --help"},
		"lab up --nonsense":            {64, "", "atoll lab up --help"},
		"lab up c1":                    {64, "", "atoll lab up --help"},
		"lab up --clusters 0":          {64, "", "1 to 99 clusters"},
		"lab up --name A":              {64, "", "a-z, 0-9 and -"},
		"lab up --ip-family x":         {64, "", "not ipv4, ipv6, dual"},
		"dns":                          {0, "uninstall", ""},
		"dns install --help":           {0, "--provider", ""},
		"dns install x":                {64, "", "atoll dns install --help"},
		"dns install --zone a_b":       {64, "", "not a domain name"},
		"dns install --server x":       {64, "", "which is not an IP address"},
		"dns install --server 0.0.0.0": {64, "", "not an address that a cluster's DNS can reach"},
		"dns install --provider x":     {64, "", "auto, coredns, coredns-custom"},
		"dns install --configmap x":    {64, "", "NAMESPACE/NAME"},
		"dns uninstall --context x":    {1, "", "reading the kubeconfig"},
		"get":                          {0, "endpoints", ""},
		"get clusters -o x":            {64, "", "table, wide, json, yaml or name"},
		"get exports -A -n x":          {64, "", "mutually exclusive"},
		"get imports a b":              {64, "", "atoll get imports --help"},
		"get imports a -A":             {64, "", "use --namespace"},
		"status --help":                {0, "--wait", ""},
		"status --context x":           {1, "", "reading the kubeconfig"},
		"check --help":                 {0, "--probe-image", ""},
		"check --join-file /no/such":   {1, "", "reading the"},
		"check --context x":            {1, "", "reading the kubeconfig"},
		"check -o name":                {64, "", "table, json or yaml"},
		"verify --help":                {0, "--junit", ""},
		"verify --context x":           {1, "", "reading the kubeconfig"},
		"bench --help":                 {0, "--endpoints", ""},
		"bench a b --rounds 0":         {64, "", "--rounds must be from 1 to 1000"},
		"bench a b --context x":        {1, "", "reading the kubeconfig"},
		"gather --help":                {0, "contains no Secrets", ""},
		"gather --context x":           {1, "", "reading the kubeconfig"},
		"explain":                      {64, "", "is missing"},
		"explain --help":               {0, "atoll explain shop/web", ""},
		"export":                       {64, "", "atoll export --help"},
		"unexport a b":                 {64, "", "atoll unexport --help"},
		"render":                       {0, "docs/how-to/gitops.md", ""},
		"render member":                {64, "", "--cluster-id: the cluster id is missing"},
		"render secret":                {64, "", "is missing"},
		"render broker -o x":           {64, "", "yaml or json"},
		"lab list":                     {0, "NAME", ""},
		"lab list -o json":             {0, "[]\n", ""},
		"lab status -o name":           {64, "", "table, json or yaml"},
		"lab down":                     {0, "", "there is no lab atoll"},
		"lab down --all":               {0, "", ""},
		"lab status":                   {1, "", "atoll lab up --name atoll"},
		"lab kubeconfig --name x":      {1, "", "atoll lab up --name x"},
		"lab exec c1":                  {64, "", "a cluster and a command"},
		"lab exec c1 --":               {64, "", "a cluster and a command"},
		"lab exec c1 -- true":          {1, "", "no such lab"},
		"lab cut c1":                   {64, "", "the argument B is missing"},
		"lab heal c1":                  {64, "", "name the two sides of the cut to end"},
		"--version":                    {0, "atoll version", ""},
		"lab exec c1 --name x -- true": {64, "", "write flags before the name of the cluster"},
		"lab kill c1/etcd":             {1, "", "no such lab"},
		"lab status --name ../x":       {64, "", "not the name of a lab"},
		"lab logs":                     {64, "", "is missing"},
		"lab gateway --config /no/pe":  {1, "", "no such file"},
	} {
		t.Run(line, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status := Main(append([]string{"atoll"}, strings.Fields(line)...), nil, &stdout, &stderr)
			if status != want.status {
				t.Errorf("status %d, want %d", status, want.status)
			}
			expect(t, "stdout", stdout.String(), want.stdout)
			expect(t, "stderr", stderr.String(), want.stderr)
		})
	}
}

func expect(t *testing.T, name, got, want string) {
	t.Helper()
	if (want == "" && got != "") || !strings.Contains(got, want) {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}
