package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const line = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","verb":"update",` +
	`"user":{"username":"system:serviceaccount:atoll-system:atoll-agent","groups":["x"]},` +
	`"objectRef":{"resource":"endpointslices","namespace":"shop","name":"web-1","apiGroup":"discovery.k8s.io"},` +
	`"responseStatus":{"metadata":{},"code":409},"stageTimestamp":"2026-01-02T03:04:05.000006Z"}` + "\n"

func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write(line)
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	read := func(want int) []Write {
		t.Helper()
		writes, err := log.Read()
		if err != nil || len(writes) != want {
			t.Fatalf("read %v, %v; want %d writes", writes, err, want)
		}
		return writes
	}
	read(0)                        // existing lines
	write(line + line + line[:40]) // the third is not all there
	w := read(2)[0]
	if w.User != "system:serviceaccount:atoll-system:atoll-agent" || w.Succeeded() || w.Namespace != "shop" || w.At.Nanosecond() != 6000 ||
		w.String() != "update endpointslices web-1: 409" {
		t.Errorf("read %+v", w)
	}
	write(line[40:])
	read(1)
	write(strings.Replace(line, `"update"`, `"watch"`, 1))
	read(0) // no write
	write(strings.Replace(line, `"update"`, `"list"`, 1) + line)
	if all, err := log.Requests(); err != nil || len(all) != 2 || all[0].Verb != "list" || all[0].Group != "discovery.k8s.io" {
		t.Fatalf("the requests are %v, %v", all, err)
	}
	read(0)
	write("no JSON\n")
	if _, err := log.Read(); err == nil {
		t.Error("no error for a line that is not JSON")
	}
}

func TestQuiet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(line+line), 0o600); err != nil {
		t.Fatal(err)
	}
	n := 0
	writes, err := log.Quiet(t.Context(), time.Millisecond, func(Write) bool { n++; return n == 1 })
	if err != nil || len(writes) != 1 {
		t.Errorf("got %v, %v; want the single write that counts", writes, err)
	}
}
