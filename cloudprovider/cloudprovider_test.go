package cloudprovider

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
)

func TestOptionsOf(t *testing.T) {
	mcs := &networkingv1alpha1.MultiClusterService{}
	mcs.Annotations = map[string]string{
		"lb.atoll.dev/provider": "haproxy", "lb.atoll.dev/address": "192.0.2.1, 2001:db8::1", "lb.atoll.dev/proxy-protocol": "v2",
		"lb.atoll.dev/max-connections": "5", "lb.atoll.dev/connection-rate": "6", "lb.atoll.dev/abandon": "true", "example.com/x": "y",
	}
	o, err := OptionsOf(mcs)
	if got, want := fmt.Sprint(o, err), "{haproxy [192.0.2.1 2001:db8::1] 2 5 6 true} <nil>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for name, values := range map[string][]string{
		"address":         {"", "host", "192.0.2.1,192.0.2.2", "fe80::1%x", "192.0.2.1,"},
		"proxy-protocol":  {"", "1", "v3"},
		"max-connections": {"", "0", "-1", "x", "100000000"},
		"connection-rate": {"0", "1.5"},
		"abandon":         {"", "perhaps"},
		"colour":          {"blue"},
	} {
		for _, value := range values {
			mcs.Annotations = map[string]string{"lb.atoll.dev/" + name: value, "lb.atoll.dev/provider": "p"}
			o, err := OptionsOf(mcs)
			if Reason(err) != ReasonInvalid || !strings.Contains(err.Error(), name) || o.Provider != "p" {
				t.Errorf("%s=%q: %v, %v", name, value, o, err)
			}
		}
	}
}

func TestRegistry(t *testing.T) {
	t.Cleanup(func() { clear(factories) })
	Register("b-test", func(c Config) (MCSLoadBalancer, error) { return nil, CheckOptions(c.Options, "x") })
	Register("a-test", func(Config) (MCSLoadBalancer, error) { return nil, nil })
	if got := Names(); !reflect.DeepEqual(got, []string{"a-test", "b-test"}) {
		t.Errorf("names: %v", got)
	}
	if _, err := New("c-test", Config{}); err == nil || !strings.Contains(err.Error(), "a-test, b-test") {
		t.Errorf("unknown provider: %v", err)
	}
	if _, err := New("b-test", Config{Options: map[string]string{"x": "1"}}); err != nil {
		t.Errorf("known option: %v", err)
	}
	if _, err := New("b-test", Config{Options: map[string]string{"y": "1"}}); err == nil {
		t.Error("unknown option: no error")
	}
	defer func() {
		if recover() == nil {
			t.Error("a second provider with the same name was registered")
		}
	}()
	Register("a-test", func(Config) (MCSLoadBalancer, error) { return nil, nil })
}

func TestReason(t *testing.T) {
	err := fmt.Errorf("ensuring: %w", &Error{"TooSmall", errors.New("it is too small")})
	if Reason(err) != "TooSmall" || err.Error() != "ensuring: it is too small" || Reason(errors.New("x")) != ReasonFailed {
		t.Errorf("%s: %v", Reason(err), err)
	}
}
