package render

// AgentImage is the reference of atoll-agent's image.
func (m Member) AgentImage() string { return m.image(AgentName) }
