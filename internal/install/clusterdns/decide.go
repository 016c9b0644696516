package clusterdns

import (
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
)

// Install decides for the given forms, or for the detected ones if none are given.
func Install(w dnswiring.Wiring, forms []dnswiring.Form) Decision {
	return func(found dnswiring.Cluster) ([]dnswiring.Change, error) {
		forms := forms
		if len(forms) == 0 {
			var err error
			if forms, err = dnswiring.Detect(found); err != nil {
				return nil, err
			}
		}
		return dnswiring.Install(found, w, forms)
	}
}

// Uninstall decides for the given forms, or for all if none are given.
func Uninstall(forms []dnswiring.Form) Decision {
	if len(forms) == 0 {
		forms = dnswiring.Forms()
	}
	return func(found dnswiring.Cluster) ([]dnswiring.Change, error) { return dnswiring.Uninstall(found, forms) }
}
