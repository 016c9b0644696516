package scenario

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/charts"
)

// Shell runs the script. What programs write to both outputs comes in one text, in which each line of the script stands before
// what it says.
func (r realLab) Shell(ctx context.Context, cluster, folder, script string) Result {
	helm, err := charts.Helm()
	if err != nil {
		return Result{Err: err}
	}
	script = fmt.Sprintf("exec 2>&1; cd %s; PATH=$PATH:%s; set -v\n%s", folder, filepath.Dir(helm), script)
	file := filepath.Join(folder, ".script")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return Result{Err: fmt.Errorf("writing a script: %w", err)}
	}
	argv := []string{
		// Labs have the same addresses one after the other, and kubectl and helm remember what was at one.
		"env", "-u", "XDG_CACHE_HOME", "-u", "XDG_CONFIG_HOME", "-u", "XDG_DATA_HOME", "HOME=" + folder,
		"bash", "-e", "-o", "pipefail", file,
	}
	var output bytes.Buffer
	if err = r.Lab.Exec(ctx, cluster, argv, lab.Streams{Out: &output, Err: &output}); err != nil {
		err = fmt.Errorf("%w: %s", err, lastLines(output.String()))
	}
	return Result{Stdout: output.String(), Err: err}
}

// lastLines are the last ones of an output, for an error.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
