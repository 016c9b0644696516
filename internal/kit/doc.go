// Package kit contains code that all controllers share. The package has options, sources of requests (source.go),
// writes and their errors (write.go), the order of bursts (stages.go), and trimmed caches (trim.go, strip.go). Folders
// have what a process needs: lifecycle, metrics, status, version.
//
// Except for trimming, nothing here depends on multi-cluster services. Start with kit.New and source.go;
// internal/agent/catalogue is a small controller that uses most of it.
package kit
