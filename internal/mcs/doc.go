// Package mcs contains the rules of the Multi-Cluster Services API as pure functions, with one folder for each rule.
//
// contribution decides what a cluster exports; merge combines a service's exports; derived and endpoints build an
// importing cluster's objects; topology selects near endpoints; validation checks others' data. Start with merge.
package mcs
