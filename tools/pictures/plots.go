package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"image/color"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// spread is what the plots use of a figure's values.
type spread struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// result is what the benchmark writes for a case (test/bench/figure).
type result struct {
	Case    string `json:"case"`
	Figures []struct {
		Name  string  `json:"name"`
		Unit  string  `json:"unit"`
		Atoll spread  `json:"atoll"`
		Floor *spread `json:"floor"`
	} `json:"figures"`
	Series []series `json:"series"`
}

type series struct {
	Name    string `json:"name"`
	Samples []struct {
		Second int `json:"second"`
		Sent   int `json:"sent"`
		Failed int `json:"failed"`
	} `json:"samples"`
}

// Colours that can be told apart on a light and on a dark page, and without colours by their lightness.
var (
	atollColor     = color.RGBA{R: 0x2f, G: 0x81, B: 0xf7, A: 0xff}
	atollTailColor = color.RGBA{R: 0x9c, G: 0xc8, B: 0xff, A: 0xff}
	floorColor     = color.RGBA{R: 0x76, G: 0x7e, B: 0x88, A: 0xff}
	floorTailColor = color.RGBA{R: 0xbc, G: 0xc4, B: 0xce, A: 0xff}
	failedColor    = color.RGBA{R: 0xe5, G: 0x53, B: 0x4b, A: 0xff}
)

// plots adds the plots of the benchmark's results.
func plots(text []byte, pictures map[string]string) error {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	plotter.DefaultFont = plot.DefaultFont
	var results []result
	if err := json.Unmarshal(text, &results); err != nil {
		return fmt.Errorf("the benchmark's results: %w", err)
	}
	var err error
	if pictures["plot-propagation.svg"], err = propagation(results); err != nil {
		return err
	}
	pictures["plot-outages.svg"], err = outages(results)
	return err
}

// labels are the figures of propagation, from the bottom to the top.
var labels = []struct{ of, name, label string }{
	{"endpoint", "until the importing cluster has it", "one endpoint changes"},
	{"export", "and its endpoints are there", "one export: IP and endpoints"},
}

// propagation draws the times of changes between clusters beside their floor.
func propagation(results []result) (string, error) {
	p := plot.New()
	p.X.Label.Text, p.X.Min, p.Legend.Top, p.Legend.Padding = "ms", 0, true, vg.Points(3)
	bars := make([]plotter.Values, 4)
	var names []string
	for _, l := range labels {
		for _, r := range results {
			for _, f := range r.Figures {
				if r.Case != l.of || f.Name != l.name || f.Floor == nil {
					continue
				}
				names = append(names, l.label)
				for i, value := range []float64{f.Atoll.P99, f.Atoll.P50, f.Floor.P99, f.Floor.P50} {
					bars[i] = append(bars[i], value)
				}
			}
		}
	}
	if len(names) != len(labels) {
		return "", fmt.Errorf("the benchmark's results have only %q", names)
	}
	charts := make([]*plotter.BarChart, len(bars))
	for i, c := range []color.Color{atollTailColor, atollColor, floorTailColor, floorColor} {
		chart, err := plotter.NewBarChart(bars[i], vg.Points(13))
		if err != nil {
			return "", err
		}
		chart.Horizontal, chart.Color, chart.LineStyle.Width, chart.Offset = true, c, 0, vg.Points(15*(float64(i)-1.5))
		p.Add(chart)
		charts[3-i] = chart
	}
	for i, name := range []string{"floor, p50", "floor, p99", "Atoll, p50", "Atoll, p99"} {
		p.Legend.Add(name, charts[i])
	}
	p.X.Max = 1.3 * slices.Max(slices.Concat(bars...)) // room for the legend
	p.NominalY(names...)
	return picture("The time until another cluster has a change, with Atoll and for the floor", 620, 220, p)
}

// outages draws the failed requests of each second.
func outages(results []result) (string, error) {
	titles := []struct{ name, title string }{
		{"cluster", "A cluster is cut off from everything"}, {"drain", "A cluster is drained"}, {"broker", "The broker's API server is killed"},
	}
	var all []*plot.Plot
	for _, t := range titles {
		for _, r := range results {
			for _, s := range r.Series {
				if s.Name != t.name {
					continue
				}
				p, err := outage(t.title, s)
				if err != nil {
					return "", err
				}
				all = append(all, p)
			}
		}
	}
	if len(all) != len(titles) {
		return "", fmt.Errorf("the benchmark's results have %d outages instead of %d", len(all), len(titles))
	}
	all[len(all)-1].X.Label.Text = "seconds after the event"
	return picture("Failed requests in each second before and after a cluster is cut off, a cluster is drained, and the broker fails", 620, 480, all...)
}

func outage(title string, s series) (*plot.Plot, error) {
	p := plot.New()
	var points plotter.XYs
	failed, sent := 0, 0
	for _, each := range s.Samples {
		if each.Sent > 0 {
			points = append(points, plotter.XY{X: float64(each.Second), Y: 100 * float64(each.Failed) / float64(each.Sent)})
		}
		failed, sent = failed+each.Failed, sent+each.Sent
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	line.StepStyle, line.Color, line.Width = plotter.PostStep, failedColor, vg.Points(2)
	p.Title.Text = fmt.Sprintf("%s: %d of %d requests failed", title, failed, sent)
	p.Y.Label.Text, p.Y.Min, p.Y.Max, p.X.Min, p.X.Max = "failed, %", -3, 100, -10, 60
	p.X.Tick.Marker = plot.TickerFunc(func(low, high float64) (ticks []plot.Tick) {
		for at := low; at <= high; at += 10 {
			ticks = append(ticks, plot.Tick{Value: at, Label: fmt.Sprintf("%.0f", at)})
		}
		return ticks
	})
	p.Add(plotter.NewGrid(), line)
	return p, nil
}

// plotStyle replaces black and white on dark pages. The library writes colours into each element.
const plotStyle = `<style>
text{font-family:"Liberation Sans",Helvetica,Arial,sans-serif!important}
@media (prefers-color-scheme: dark){text{fill:#d1d7e0!important}[style*="fill:#FFFFFF"]{fill:#0d1117!important}[style*="stroke:#000000"]{stroke:#9198a1!important}[style*="stroke:#808080"]{stroke:#3d444d!important}}
</style>`

// picture draws plots below each other.
func picture(title string, width, height float64, all ...*plot.Plot) (string, error) {
	canvas := vgsvg.New(vg.Points(width), vg.Points(height))
	tiles := draw.Tiles{Rows: len(all), Cols: 1, PadY: vg.Points(8), PadRight: vg.Points(12), PadTop: vg.Points(4), PadBottom: vg.Points(4), PadLeft: vg.Points(4)}
	grid := make([][]*plot.Plot, len(all))
	for i, p := range all {
		grid[i] = []*plot.Plot{p}
	}
	for i, row := range plot.Align(grid, tiles, draw.New(canvas)) {
		all[i].Draw(row[0])
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", err
	}
	head, body, found := strings.Cut(textPattern.ReplaceAllStringFunc(b.String(), fit), "<g ")
	if !found {
		return "", fmt.Errorf("the plot %q is empty", title)
	}
	return head + "<title>" + html.EscapeString(title) + "</title>\n" + plotStyle + "\n<g " + body, nil
}

var textPattern = regexp.MustCompile(`(?s)<text [^>]*font-size:([\d.]+)px">([^<]*)</text>`)

// fit gives a text its length as textLength, so that it has the same place with all fonts.
func fit(element string) string {
	m := textPattern.FindStringSubmatch(element)
	size, _ := strconv.ParseFloat(m[1], 64)
	face := font.DefaultCache.Lookup(plot.DefaultFont, vg.Length(size))
	length := face.Width(html.UnescapeString(m[2]))
	return fmt.Sprintf(`<text textLength="%.1f" lengthAdjust="spacingAndGlyphs" %s`, length.Points(), strings.TrimPrefix(element, "<text "))
}
