package report

import (
	"maps"
	"slices"
	"strings"

	"github.com/atoll-mcs/atoll/internal/doctor/survey"
)

// Setting is a setting of a member's installation: a flag of atoll join that differs from the default.
type Setting struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// Settings lists the settings of the queried cluster by name.
func Settings(s *survey.Survey) []Setting {
	all := make([]Setting, 0, len(s.Cluster.Settings))
	for _, name := range slices.Sorted(maps.Keys(s.Cluster.Settings)) {
		all = append(all, Setting{name, strings.Split(s.Cluster.Settings[name], "\n")})
	}
	return all
}
