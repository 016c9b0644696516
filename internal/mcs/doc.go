// Package mcs has the rules of the Multi-Cluster Services API as pure functions, one folder for each.
//
// contribution says what a cluster exports, merge what all exports of a service amount to, derived and endpoints what an importing cluster makes of that,
// topology which endpoints are near, validation what is accepted of others, names what everything is called. Start with merge.
package mcs
