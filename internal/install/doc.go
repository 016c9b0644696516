// Package install applies and deletes objects on an API server for the commands that install Atoll. It does not write
// objects that are up to date, so every command can be repeated.
//
// Subpackages: setup installs clustersets and members; render builds their manifests, also for charts. clusterdns,
// dnswiring and corefile make cluster DNS forward the clusterset's zone. No code here runs in a cluster. Start with
// setup.
package install
