package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestChosen(t *testing.T) {
	names := func(o options) string {
		chosen, err := o.chosen()
		if err != nil {
			return err.Error()
		}
		var names []string
		for _, c := range chosen {
			names = append(names, c.Name)
		}
		return strings.Join(names, " ")
	}
	every := len(strings.Fields(names(options{cases: []string{"all"}})))
	extra := 0
	for _, c := range all {
		if c.Extra {
			extra++
		}
	}
	if n := len(strings.Fields(names(options{}))); every != len(all) || n != every-extra || extra == 0 {
		t.Errorf("%d cases, %d by default, %d extra", every, n, extra)
	}
	if got := names(options{cases: []string{"create", "export"}}); got != "export create" {
		t.Errorf("chosen %q, want them in the order of the list", got)
	}
	if got := names(options{cases: []string{"exprot"}}); !strings.Contains(got, `no case "exprot"`) || !strings.Contains(got, "endpoint") {
		t.Errorf("for a name that does not exist: %q", got)
	}
}

func TestHelp(t *testing.T) {
	command := newCommand()
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs([]string{"--help"})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if !strings.Contains(out.String(), c.About) {
			t.Errorf("the help does not name the case %s", c.Name)
		}
	}
}
