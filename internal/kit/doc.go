// Package kit holds what any controller needs: options, sources of requests (source.go), what an error of a write means (write.go), in which order a burst is
// written (stages.go), and what caches keep (trim.go, strip.go). Folders have what a process needs: lifecycle, metrics, status, version.
//
// Nothing here knows what a multi-cluster service is, but for what of an object is worth keeping. Start with kit.New and source.go; internal/agent/catalogue is a
// small controller that uses most of it.
package kit
