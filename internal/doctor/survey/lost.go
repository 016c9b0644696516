package survey

import (
	"strings"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// SetLost sets which clusters are withdrawn, silent and unproven, from the data of the agents' ConfigMap.
func (c *Cluster) SetLost(data map[string]string) {
	c.Withdrawn, c.Silent, c.Unproven = map[string]string{}, map[string]string{}, map[string]string{}
	for key, since := range data {
		if id, found := strings.CutPrefix(key, names.LostSilent); found {
			c.Silent[id] = since
		} else if id, found := strings.CutPrefix(key, names.LostUnproven); found {
			c.Unproven[id] = since
		} else {
			c.Withdrawn[key] = since
		}
	}
}
