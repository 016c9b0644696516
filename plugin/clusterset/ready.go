package clusterset

// Ready implements the readiness of CoreDNS's ready plugin: true once all ServiceImports and EndpointSlices are in the
// index.
func (c *Clusterset) Ready() bool {
	select {
	case <-c.synced:
		return true
	default:
		return false
	}
}
