package planes

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// shardVariable is set for processes that run some of a package's tests.
const shardVariable = "ATOLL_SHARD"

// runShards deals out the tests that are to run to this many processes of the same program, and writes what each has written, one after the other.
func runShards(count int) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	pattern := flag.Lookup("test.run").Value.String()
	top, rest, nested := strings.Cut(pattern, "/")
	skip := flag.Lookup("test.skip").Value.String()
	listing := exec.Command(program, "-test.list", cmp.Or(top, "."))
	listing.Env = append(os.Environ(), shardVariable+"=list") // it deals out nothing
	list, err := listing.Output()
	if err != nil {
		return fmt.Errorf("listing the tests: %w", err)
	}
	tests := slices.DeleteFunc(strings.Fields(string(list)), func(name string) bool { return !strings.HasPrefix(name, "Test") })
	if skip != "" && !strings.Contains(skip, "/") {
		skipped, err := regexp.Compile(skip)
		if err != nil {
			return fmt.Errorf("-skip: %w", err)
		}
		tests = slices.DeleteFunc(tests, skipped.MatchString)
	}
	count = min(count, len(tests))
	errs := make([]error, count)
	var mu sync.Mutex
	var running sync.WaitGroup
	for i := range count {
		var mine []string
		for j := i; j < len(tests); j += count {
			mine = append(mine, tests[j])
		}
		run := "^(" + strings.Join(mine, "|") + ")$"
		if nested {
			run += "/" + rest
		}
		running.Go(func() {
			args := append(slices.Clone(os.Args[1:]), "-test.run="+run, "-test.testlogfile=") // of two flags the last one counts
			command := exec.Command(program, args...)
			command.Env = append(os.Environ(), fmt.Sprintf("%s=%d", shardVariable, i+1))
			var output bytes.Buffer
			command.Stdout, command.Stderr = &output, &output
			errs[i] = command.Run()
			mu.Lock()
			defer mu.Unlock()
			os.Stdout.Write(output.Bytes())
		})
	}
	running.Wait()
	return errors.Join(errs...)
}
