// Package agent contains the MCS controllers of a member cluster, which publish exports and write imports.
//
// This package has the process: options, memberships, metrics and health. Subfolders have the controllers, one per kind of
// object that they write. core lists the controllers (start at core/controllers.go); inputs has what they read. A
// controller reads its inputs, calls a rule of internal/mcs or internal/broker/belief, and writes the difference. Rules
// and commands do not belong here.
package agent
