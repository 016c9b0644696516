package survey

import (
	"reflect"
	"testing"
)

func TestParseLeftOut(t *testing.T) {
	got := parseLeftOut(`# HELP atoll_import_left_out Number of services, or of endpoints, that are not imported.
# TYPE atoll_import_left_out gauge
atoll_import_left_out{of="endpoints",source_cluster="c2.eu"} 0
atoll_import_left_out{of="services",source_cluster="c2.eu"} 3
atoll_import_left_out{source_cluster="c3",of="endpoints"} 1e+06
atoll_import_left_out{of="services",source_cluster="broken"} x
atoll_import_left_out_of_something{of="services",source_cluster="c4"} 1
other{of="services",source_cluster="c5"} 1
`)
	want := map[string]LeftOut{"c2.eu": {Services: 3}, "c3": {Endpoints: 1_000_000}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// FuzzParseLeftOut: whatever an agent writes, it is read without a panic.
func FuzzParseLeftOut(f *testing.F) {
	f.Add("atoll_import_left_out{of=\"services\",source_cluster=\"c2\"} 3\n")
	f.Add("atoll_import_left_out{")
	f.Fuzz(func(_ *testing.T, text string) { parseLeftOut(text) })
}
