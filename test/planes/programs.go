package planes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/atoll-mcs/atoll/test/charts"
)

// programsVariable names a folder with programs that are already built. Tests run these
// programs unchanged.
const programsVariable = "ATOLL_PROGRAMS"

// Nightly reports whether slow tests run. Only make nightly sets $ATOLL_NIGHTLY.
func Nightly() bool { return os.Getenv("ATOLL_NIGHTLY") != "" }

// Programs returns the folder that $ATOLL_PROGRAMS names, or builds atoll, atoll-agent,
// atoll-dns and atoll-hub into a new folder. remove deletes the new folder.
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
