package figure

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestTargets(t *testing.T) {
	floor := Times("floor", Milliseconds, []time.Duration{10 * time.Millisecond})
	f := Times("x", Milliseconds, []time.Duration{40 * time.Millisecond, 20 * time.Millisecond, 30 * time.Millisecond}).OnFloor(floor)
	if f.Value != 30 || *f.Ratio != 3 {
		t.Errorf("got %+v", f)
	}
	for _, tt := range []struct {
		figure Figure
		met    bool
		text   string
	}{
		{f.AtMostFloors(3), true, "at most 3 x floor"},
		{f.AtMostFloors(2.9), false, "at most 2.9 x floor"},
		{f.AtLeastFloors(3.1), false, "at least 3.1 x floor"},
		{f.AtMost(30), true, "at most 30 ms"},
		{f.AtMost(29), false, "at most 29 ms"},
		{New("w", Writes, 200).Exactly(200), true, "200 writes"},
		{New("w", Writes, 201).Exactly(200), false, "200 writes"},
		{New("no floor", Seconds, 1).AtMostFloors(3), false, "at most 3 x floor"},
	} {
		if *tt.figure.Met != tt.met || tt.figure.Target != tt.text {
			t.Errorf("got %t %q, want %t %q", *tt.figure.Met, tt.figure.Target, tt.met, tt.text)
		}
	}
}

func TestPrint(t *testing.T) {
	c := Case{Name: "export", About: "one export", Seconds: 12, Error: "it broke", Notes: []string{"said so"}}
	c.Add(New("one", Milliseconds, 30.24).OnFloor(New("floor", Milliseconds, 10)).AtMostFloors(3).Because("of that"))
	table := Table{Title: "Table", Columns: []string{"a", "bb"}}
	table.Add("ä", "2")
	c.Tables = append(c.Tables, table)
	var out bytes.Buffer
	c.Print(&out)
	for _, want := range []string{
		"export: one export (12 s)", "FAILED: it broke", "30.2 ms", "3.02 x", "at most 3 x floor", "NOT MET", "* one: of that",
		"| a | bb |\n| --- | --- |\n| ä | 2 |", "* said so",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	c.Add(New("met", Writes, 1).Exactly(1), New("no target", Writes, 1))
	if missed := c.Missed(); missed != 1 {
		t.Errorf("%d targets are missed, not 1", missed)
	}
	var document bytes.Buffer
	if err := (&Report{Cases: []Case{c}}).WriteJSON(&document); err != nil || !json.Valid(document.Bytes()) {
		t.Errorf("%v in %s", err, document.String())
	}
}

func TestNumbers(t *testing.T) {
	for value, want := range map[float64]string{0: "0", 1234.5: "1234", 99.94: "99.9", 0.01234: "0.0123", 200: "200"} {
		if got := Number(value); got != want {
			t.Errorf("%g is %q, want %q", value, got, want)
		}
	}
}
