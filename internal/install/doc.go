// Package install puts objects on an API server and takes them away again, in a person's name: what the commands that install Atoll have in common. What is
// there already, and current, is not written again, so that every command can be repeated.
//
// The folders are what is installed: setup makes clustersets and members, render says which objects that are (charts and manifests are made of it too),
// clusterdns, dnswiring and corefile have a cluster's own DNS ask for the clusterset's zone. Nothing here runs in a cluster. Start with setup.
package install
