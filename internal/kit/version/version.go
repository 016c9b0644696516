// Package version has the version of the program.
package version

// version is set by the linker; see the Makefile.
var version = "development"

// String returns the program's version.
func String() string { return version }
