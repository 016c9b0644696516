package scenario

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
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

// Of a long failure the first line and the last ones are told, of a short one all.
func TestFailuresAreToldAgain(t *testing.T) {
	var f failures
	f.add("short", errors.New("a.txtar:1: http\n\tnothing answers"))
	f.add("long", errors.New("b.txtar:2: follow\n"+strings.Repeat("\tdropped\n", 100)+strings.Repeat("\tkept\n", failureLines-1)+"\tend"))
	var told strings.Builder
	f.write(&told)
	want := "\nfailed: short\na.txtar:1: http\n\tnothing answers\n\nfailed: long\nb.txtar:2: follow\n\t…\n" + strings.Repeat("\tkept\n", failureLines-1) + "\tend\n"
	if told.String() != want {
		t.Errorf("told %q\nwant %q", told.String(), want)
	}
}
