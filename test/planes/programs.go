package planes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/atoll-mcs/atoll/test/charts"
)

// programsVariable names a folder with Atoll's programs, which are tested as they are there.
const programsVariable = "ATOLL_PROGRAMS"

// Nightly tells whether tests run that take longer than a change should wait for: make nightly sets $ATOLL_NIGHTLY.
func Nightly() bool { return os.Getenv("ATOLL_NIGHTLY") != "" }

// Programs returns a folder with the programs atoll, atoll-agent, atoll-dns and atoll-hub: that which $ATOLL_PROGRAMS names, or else one
// in which they are built. remove deletes the latter.
func Programs(ctx context.Context) (folder string, remove func(), err error) {
	if folder := os.Getenv(programsVariable); folder != "" {
		if _, err := os.Stat(filepath.Join(folder, "atoll")); err != nil {
			return "", nil, fmt.Errorf("%s: %w; build them with: make build", programsVariable, err)
		}
		return folder, func() {}, nil
	}
	if folder, err = os.MkdirTemp("", "atoll-programs-"); err != nil {
		return "", nil, err
	}
	command := exec.CommandContext(ctx, "go", "build", "-o", folder+string(filepath.Separator), "./cmd/...")
	command.Dir = charts.Root()
	if output, err := command.CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("building atoll: %w\n%s", err, output)
	}
	return folder, func() { os.RemoveAll(folder) }, nil
}
