// Command release packs a release from built programs. A release has images without Docker, bills of materials,
// archives, charts, manifests and checksums. The same commit gives the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const usage = `usage: release images|push|archives|charts|checksums [flags]     (or: make images, make push, make release)

  images      container images of atoll-agent, atoll-dns, atoll-hub and atoll-console, as OCI layouts in tar files
  push        push these images to the registry, with the credentials of docker login
  archives    archives of the program atoll for each platform
  charts      the Helm charts, packaged
  checksums   a file SHA256SUMS of everything in the folder, with a provenance statement and a signature

`

// options are the flags that all commands have.
type options struct {
	// version is the release's, and revision its commit.
	version, revision string
	// created is when: that of the commit, so that the same commit gives the same bytes.
	created time.Time
	// programs is where programs are: OS-ARCH/NAME. Charts are in source, and everything is written into out.
	programs, source, out string
	registry              string
	helm                  string
	// signingKey is a file with a private key; "" signs nothing.
	signingKey string
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(status(err))
	}
}

// errUsage is in the chain of errors that are the caller's.
var errUsage = errors.New("see: release --help")

func status(err error) int {
	if errors.Is(err, errUsage) {
		return 64 // EX_USAGE of sysexits.h
	}
	return 1
}

func run(args []string, stdout, stderr io.Writer) error {
	var o options
	var epoch int64
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {}
	flags.StringVar(&o.version, "version", "", "the release's version")
	flags.StringVar(&o.revision, "revision", "", "the commit")
	flags.Int64Var(&epoch, "epoch", 0, "the commit's time, in seconds since 1970 (SOURCE_DATE_EPOCH)")
	flags.StringVar(&o.programs, "programs", "dist/programs", "folder of the programs, as OS-ARCH/NAME")
	flags.StringVar(&o.source, "source", ".", "the repository")
	flags.StringVar(&o.out, "out", "dist", "folder to write into")
	flags.StringVar(&o.registry, "registry", "ghcr.io/atoll-mcs", "registry that the images' names begin with")
	flags.StringVar(&o.signingKey, "signing-key", "", "checksums: file with an ECDSA key in PEM, to sign the checksums")
	flags.StringVar(&o.helm, "helm", "helm", "the program helm")
	commands := map[string]func(options, io.Writer) error{"images": images, "push": push, "archives": archives, "charts": charts, "checksums": checksums}
	help := func(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }
	if len(args) == 0 || args[0] == "help" || slices.ContainsFunc(args, help) {
		fmt.Fprint(stdout, usage)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return nil
	}
	command, ok := commands[args[0]]
	if !ok {
		return fmt.Errorf("there is no command %q; %w", args[0], errUsage)
	}
	if err := flags.Parse(args[1:]); err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	if flags.NArg() > 0 || o.version == "" || epoch == 0 {
		return fmt.Errorf("--version and --epoch are needed, and no arguments; %w", errUsage)
	}
	o.created = time.Unix(epoch, 0).UTC()
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	return command(o, stdout)
}

// platform is one that programs are built for.
type platform struct{ os, arch string }

// String is the platform as folders are called.
func (p platform) String() string { return p.os + "-" + p.arch }

// platformsOf are those that a program was built for.
func (o options) platformsOf(program string) ([]platform, error) {
	found, err := filepath.Glob(filepath.Join(o.programs, "*-*", program))
	if err != nil {
		return nil, err
	}
	var all []platform
	for _, path := range found {
		system, arch, _ := strings.Cut(filepath.Base(filepath.Dir(path)), "-")
		all = append(all, platform{system, arch})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no program %s in %s/OS-ARCH: make images builds them first", program, o.programs)
	}
	return all, nil
}
