package figure

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
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

func TestFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		law := Power{Factor: rapid.Float64Range(0.01, 100).Draw(t, "factor"), Exponent: rapid.Float64Range(-2, 3).Draw(t, "exponent")}
		xs := []float64{5, 10, 20, 50, 0} // the last has no logarithm
		var ys []float64
		for _, x := range xs {
			ys = append(ys, law.At(x))
		}
		got, ok := Fit(xs, ys)
		if !ok || math.Abs(got.Exponent-law.Exponent) > 1e-6 || math.Abs(got.At(500)/law.At(500)-1) > 1e-6 {
			t.Fatalf("got %+v, want %+v", got, law)
		}
	})
	if _, ok := Fit([]float64{3, 3}, []float64{1, 2}); ok {
		t.Error("a law was fitted to points with one x")
	}
	if p, _ := Fit([]float64{1, 10, 100}, []float64{1, 1000, 100}); p.R2 > 0.6 {
		t.Errorf("a bad fit has R2 %g", p.R2)
	}
}

func TestPrint(t *testing.T) {
	c := Case{Name: "export", About: "one export", Seconds: 12, Error: "it broke", Notes: []string{"said so"}}
	c.Add(New("one", Milliseconds, 30.24).OnFloor(New("floor", Milliseconds, 10)).AtMostFloors(3).Because("of that"))
	table := Table{Title: "Table", Columns: []string{"a", "bb"}}
	table.Add("ä", "2")
	table.Add("3")
	c.Tables = append(c.Tables, table)
	var out bytes.Buffer
	c.Print(&out)
	for _, want := range []string{
		"export: one export (12 s)", "FAILED: it broke", "30.2 ms", "3.02 x", "at most 3 x floor", "NOT MET", "* one: of that",
		"| a | bb |\n|---|----|\n| ä | 2  |\n| 3 |    |", "* said so",
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
	for n, want := range map[float64]string{0: "0 B", 999: "999 B", 1.2e10: "12 GB", 5e15: "5e+03 TB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%g bytes are %q, want %q", n, got, want)
		}
	}
}

func TestFitSquare(t *testing.T) {
	want := Square{Fixed: 17, Each: 0.3, Pairs: 0.02}
	var xs, ys []float64
	for _, x := range []float64{10, 20, 50, 100} {
		xs, ys = append(xs, x), append(ys, want.At(x))
	}
	law, ok := FitSquare(xs, ys)
	if !ok || math.Abs(law.At(500)-want.At(500)) > 1e-6 || math.Abs(law.Pairs-want.Pairs) > 1e-9 {
		t.Errorf("fitted %+v, want %+v", law, want)
	}
	if _, ok := FitSquare([]float64{10, 10, 20}, []float64{1, 2, 3}); ok {
		t.Error("two sizes tell of three parts")
	}
}
