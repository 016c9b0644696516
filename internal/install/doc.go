// Package install applies and deletes objects on an API server for the commands that install Atoll. What is
// there already, and current, is not written again, so that every command can be repeated.
//
// The folders are what is installed: setup makes clustersets and members, render says which objects that are (charts and manifests are made of it too),
// clusterdns, dnswiring and corefile have a cluster's own DNS ask for the clusterset's zone. Nothing here runs in a cluster. Start with setup.
package install
