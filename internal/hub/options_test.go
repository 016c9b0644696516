package hub

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestOptions(t *testing.T) {
	for _, tt := range []struct{ args, wants string }{
		{"", ""},
		{"--clusterset=", "--clusterset"},
		{"--member-budget=-1", "--member-budget"},
		{"--pod-cidr=10.1.0.0/16,fd00:1::/48 --service-cidr=10.96.0.0/12", ""},
		{"--pod-cidr=10.1.0.0", "--pod-cidr"},
		{"--service-cidr=x", "--service-cidr"},
	} {
		var o Options
		flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
		o.AddFlags(flags)
		if err := flags.Parse(strings.Fields(tt.args)); err != nil {
			t.Fatal(err)
		}
		if err := o.Validate(); (err == nil) != (tt.wants == "") || err != nil && !strings.Contains(err.Error(), tt.wants) {
			t.Errorf("%q: %v", tt.args, err)
		}
	}
}
