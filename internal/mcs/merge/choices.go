package merge

// Choice is one property of an import: its value, the value's source, and the clusters that disagree.
type Choice struct {
	// Property is the property's display name.
	Property string `json:"property"`
	// Using is the value in use.
	Using string `json:"using"`
	// From is the id of the cluster whose export has the value.
	From string `json:"from"`
	// Others are the values of the clusters that disagree, by cluster id.
	Others map[string]string `json:"others,omitempty"`
}

// Choices explains what Resolve decides for the exports of one Service: properties, IP families and ports, in this
// order. There must be at least one export.
func Choices(exports []Export) []Choice {
	exports = byPrecedence(exports)
	oldest := exports[0]
	choices := make([]Choice, 0, len(properties)+1)
	for _, p := range properties {
		choice := Choice{Property: p.name, Using: p.value(oldest), From: oldest.ClusterID}
		for _, e := range exports[1:] {
			if p.concerns == nil || p.concerns(oldest, e) {
				choice.differs(e, p.value(e))
			}
		}
		choices = append(choices, choice)
	}
	return append(append(choices, familyChoice(exports)), portChoices(exports)...)
}

// differs records another cluster's value if it is different.
func (c *Choice) differs(e Export, value string) {
	if value == c.Using {
		return
	}
	if c.Others == nil {
		c.Others = map[string]string{}
	}
	c.Others[e.ClusterID] = value
}

func familyChoice(exports []Export) Choice {
	union, _ := mergeIPFamilies(exports)
	choice := Choice{Property: "IP families", Using: list(union), From: exports[0].ClusterID}
	for _, e := range exports {
		if len(e.IPFamilies) != len(union) { // the order does not matter
			choice.differs(e, list(e.IPFamilies))
		}
	}
	return choice
}

// portChoices returns one choice per port. A cluster that lacks the port, or defines its name or number differently,
// gets no traffic for it.
func portChoices(exports []Export) []Choice {
	union, origins := unionOfPorts(exports)
	choices := make([]Choice, 0, len(union))
	for i, port := range union {
		choice := Choice{Property: "port", Using: describe(port), From: origins[i]}
		for _, e := range exports {
			value := "not exposed"
			for _, p := range e.Ports {
				if p = withDefaults(p); samePort(p, port) || clash(p, port) && value == "not exposed" {
					value = describe(p)
				}
			}
			choice.differs(e, value)
		}
		choices = append(choices, choice)
	}
	return choices
}
