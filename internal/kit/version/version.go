// Package version tells which version of Atoll a program is.
package version

// version is set by the linker; see the Makefile.
var version = "development"

// String returns the program's version.
func String() string { return version }
