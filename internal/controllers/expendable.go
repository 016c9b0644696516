package controllers

import (
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// expendable returns which of the slices that are to go may do so now, although writing
// others failed. What was refused may be so for ever, and until then
// slices that nobody wants would send traffic to pods that are gone. So they go, but for
// those with addresses that a failed one would have taken over. A quota is kept by fewer
// objects alone: under one all go, and the failed ones get their room.
func expendable(going []*discoveryv1.EndpointSlice, failures []failure) []*discoveryv1.EndpointSlice {
	quotas := true
	for _, f := range failures {
		if !Refused(f.err) {
			return nil
		}
		quotas = quotas && overQuota(f.err)
	}
	if quotas {
		return going
	}
	wanted := map[string]bool{}
	for _, f := range failures {
		for _, e := range f.slice.Endpoints {
			for _, address := range e.Addresses {
				wanted[address] = true
			}
		}
	}
	takenOver := func(e discoveryv1.Endpoint) bool {
		return slices.ContainsFunc(e.Addresses, func(address string) bool { return wanted[address] })
	}
	return slices.DeleteFunc(slices.Clone(going), func(s *discoveryv1.EndpointSlice) bool {
		return slices.ContainsFunc(s.Endpoints, takenOver)
	})
}

// overQuota tells whether a ResourceQuota refused a write. The API has no reason or
// cause of its own for that; the words are those of its admission plugin.
func overQuota(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}
