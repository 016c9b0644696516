// Package version has the version of the program.
package version

import "strings"

// version is set by the linker; see the Makefile.
var version = "development"

// digests are the digests of a release's images, as NAME@DIGEST separated by commas. They are set by the linker, and empty in other
// builds.
var digests string

// Digest returns "@" and the digest of the image of one of Atoll's programs, "" if this is not a release.
func Digest(program string) string {
	for image := range strings.SplitSeq(digests, ",") {
		if name, digest, found := strings.Cut(image, "@"); found && name == program {
			return "@" + digest
		}
	}
	return ""
}

// String returns the program's version.
func String() string { return version }
