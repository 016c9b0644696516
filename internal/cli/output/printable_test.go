package output

import (
	"bytes"
	"testing"
)

// Whatever the pieces that a writer gets, no character is lost, and only coloured marks control a terminal.
func TestPrintable(t *testing.T) {
	const given = "NAME\tREGION\n" + "√ \x1b[32m√\x1b[0m eu\x1b[2J\u009b2J\u202ex\r日本\xff\n" + "\x1b[31m√\x1b[0m"
	const want = "NAME\tREGION\n" + "√ \x1b[32m√\x1b[0m eu\\u001b[2J\\u009b2J\\u202ex\\u000d日本\ufffd\n" + "\\u001b[31m√\\u001b[0m"
	plain := bytes.ReplaceAll([]byte(given), []byte("\x1b[32m√\x1b[0m"), []byte("√"))
	for size := 1; size <= len(given); size++ {
		var whole, pieces bytes.Buffer
		all, some := Printable(&whole), Printable(&pieces)
		if n, err := all.Write([]byte(given)); n != len(given) || err != nil || whole.String() != want {
			t.Fatalf("%d, %v: %q, want %q", n, err, whole.String(), want)
		}
		for rest := plain; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if _, err := some.Write(rest[:min(size, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		if want := bytes.ReplaceAll([]byte(want), []byte("\x1b[32m√\x1b[0m"), []byte("√")); pieces.String() != string(want) {
			t.Fatalf("in pieces of %d: %q, want %q", size, pieces.String(), want)
		}
	}
	if w := new(bytes.Buffer); Raw(Printable(w)) != w || Raw(w) != w {
		t.Error("Raw is another writer")
	}
}
