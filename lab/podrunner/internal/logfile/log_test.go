package logfile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"
)

func create(t testing.TB) *Log {
	t.Helper()
	l, err := Create(filepath.Join(t.TempDir(), "0.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func ignore([]byte) {}

func read(t testing.TB, l *Log, o Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := Read(context.Background(), l.Path(), l, o, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestRead(t *testing.T) {
	l := create(t)
	l.Copy(Stdout, strings.NewReader("one\ntwo\n\nfour\n"), ignore)
	l.Copy(Stderr, strings.NewReader("five\nunfinished"), ignore)
	tail := func(n int64) *int64 { return &n }
	for name, tc := range map[string]struct {
		o    Options
		want string
	}{
		"all":             {Options{}, "one\ntwo\n\nfour\nfive\nunfinished"},
		"tail":            {Options{Tail: tail(3)}, "four\nfive\nunfinished"},
		"tail of nothing": {Options{Tail: tail(0)}, ""},
		"long tail":       {Options{Tail: tail(100)}, "one\ntwo\n\nfour\nfive\nunfinished"},
		"stream":          {Options{Stream: Stdout}, "one\ntwo\n\nfour\n"},
		"tail of stream":  {Options{Stream: Stdout, Tail: tail(1)}, "four\n"},
		"limit":           {Options{Limit: 6}, "one\ntw"},
		"future":          {Options{Since: time.Now().Add(time.Hour)}, ""},
		"past":            {Options{Since: time.Now().Add(-time.Hour), Limit: 4}, "one\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := read(t, l, tc.o); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	line := strings.SplitN(read(t, l, Options{Timestamps: true, Tail: tail(2)}), " ", 2)
	if at, err := time.Parse(time.RFC3339Nano, line[0]); err != nil || time.Since(at) > time.Minute {
		t.Errorf("bad time stamp %q", line[0])
	}
}

// TestReadGivesWhatWasWritten holds whatever the chunks, line lengths and
// rotations, as long as no rotation loses anything.
func TestReadGivesWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := create(t)
		text := strings.Join(rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) string {
			return strings.Repeat(rapid.StringMatching(`[a-z ]{1,3}`).Draw(rt, "text"), rapid.IntRange(0, 20000).Draw(rt, "length"))
		}), 0, 5).Draw(rt, "lines"), "\n")
		l.maxSize = int64(2 * len(text) / 3) // at most one rotation, for lines get longer
		if rapid.Bool().Draw(rt, "large") {
			l.maxSize = maxSize
		}
		var raw bytes.Buffer
		l.Copy(Stdout, iotest.HalfReader(strings.NewReader(text)), func(b []byte) { raw.Write(b) })
		if l.rotated > 1 {
			rt.Skip("lost some")
		}
		if got := read(t, l, Options{}); got != text {
			rt.Fatalf("got %d bytes, want %d", len(got), len(text))
		}
		if raw.String() != text {
			rt.Fatal("the copy differs")
		}
	})
}

func TestFollow(t *testing.T) {
	l := create(t)
	l.Copy(Stdout, strings.NewReader("before\n"), ignore)
	zero := int64(0)
	for name, tc := range map[string]struct {
		o    Options
		want string
	}{
		"all":  {Options{Follow: true}, "before\nduring "},
		"tail": {Options{Follow: true, Tail: &zero}, "during "},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := io.Pipe()
			go func() { w.CloseWithError(Read(context.Background(), l.Path(), l, tc.o, w)) }()
			// Nobody can tell when reading has begun: write until it is over.
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				for {
					select {
					case <-stop:
						return
					default:
						l.Copy(Stdout, strings.NewReader("during "+name+"\n"), ignore)
					}
				}
			}()
			got := make([]byte, len(tc.want))
			if _, err := io.ReadFull(r, got); err != nil || string(got) != tc.want {
				t.Errorf("got %q, %v", got, err)
			}
			r.Close()
			close(stop)
			<-stopped
		})
	}
	done := make(chan error)
	var out bytes.Buffer
	go func() { done <- Read(context.Background(), l.Path(), l, Options{Follow: true}, &out) }()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("following a log that ends: %v", err)
	}
}

func TestAbsentLogIsEmpty(t *testing.T) {
	var out bytes.Buffer
	err := Read(context.Background(), filepath.Join(t.TempDir(), "none"), nil, Options{Follow: true}, &out)
	if err != nil || out.Len() > 0 {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

func TestFollowAcrossRotations(t *testing.T) {
	l := create(t)
	l.maxSize = 200 // a few lines
	r, w := io.Pipe()
	defer r.Close()
	go func() { w.CloseWithError(Read(context.Background(), l.Path(), l, Options{Follow: true}, w)) }()
	for i := range 50 {
		want := fmt.Sprintf("line %d\n", i)
		l.Copy(Stdout, strings.NewReader(want), ignore)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
	if l.rotated < 5 {
		t.Errorf("rotated %d times only", l.rotated)
	}
}
