package scenario

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// failureLines is how many of the last lines of a failure are told again.
const failureLines = 60

// failures collects what failed, of several goroutines.
type failures struct {
	mu  sync.Mutex
	all []string
}

func (f *failures) add(name string, err error) {
	lines := strings.Split(err.Error(), "\n")
	if n := len(lines); n > failureLines { // the first names the line of the script
		lines = append([]string{lines[0], "\t…"}, lines[n-failureLines:]...)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, name+"\n"+strings.Join(lines, "\n"))
}

func (f *failures) write(w io.Writer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, text := range f.all {
		fmt.Fprintf(w, "\nfailed: %s\n", text)
	}
}
