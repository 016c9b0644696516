package clusterset

// Ready implements the readiness of CoreDNS's ready plugin: true from when every
// ServiceImport and EndpointSlice is in the index.
func (c *Clusterset) Ready() bool {
	select {
	case <-c.synced:
		return true
	default:
		return false
	}
}
