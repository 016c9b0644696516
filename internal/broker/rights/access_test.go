package rights

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// A role shows what members are permitted as those do that are made now, or with more rights; not as those of before.
func TestShowsPermissions(t *testing.T) {
	for name, c := range map[string]struct {
		rules []rbacv1.PolicyRule
		shows bool
	}{
		"as it is made": {role("set").Rules, true},
		"of before":     {role("set").Rules[:6], false},
		"other names":   {[]rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"x"}, Verbs: []string{"list", "watch"}}}, false},
		"not watched":   {[]rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}}, false},
		"everything":    {[]rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}, true},
	} {
		if got := CanReadPermissions(&rbacv1.Role{Rules: c.rules}); got != c.shows {
			t.Errorf("%s: %v", name, got)
		}
	}
}
