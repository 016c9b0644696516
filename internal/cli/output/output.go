// Package output prints results as tables, JSON or YAML.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// Format is an output format.
type Format string

const (
	// Table is for people; Wide has more columns.
	Table Format = "table"
	Wide  Format = "wide"
	// JSON and YAML are for programs.
	JSON Format = "json"
	YAML Format = "yaml"
	// Name is one name per line.
	Name Format = "name"
)

// flag is a format that the user selects.
type flag struct {
	format  *Format
	allowed []Format
}

// AddFlag adds a flag for one of the allowed formats; the first one is the default.
func AddFlag(flags *pflag.FlagSet, format *Format, allowed ...Format) {
	*format = allowed[0]
	f := flag{format, allowed}
	flags.VarP(f, "output", "o", "output format: "+f.list())
}

// String returns the selected format.
func (f flag) String() string { return string(*f.format) }

// Type is the value's name in help texts.
func (flag) Type() string { return "format" }

// Set selects an allowed format.
func (f flag) Set(text string) error {
	if !slices.Contains(f.allowed, Format(text)) {
		return fmt.Errorf("the format must be %s", f.list())
	}
	*f.format = Format(text)
	return nil
}

// Formats returns the allowed formats.
func (f flag) Formats() []string {
	texts := make([]string, len(f.allowed))
	for i, a := range f.allowed {
		texts[i] = string(a)
	}
	return texts
}

func (f flag) list() string {
	texts := f.Formats()
	return strings.Join(texts[:len(texts)-1], ", ") + " or " + texts[len(texts)-1]
}

// Structured writes a value as JSON or YAML, or returns false for other formats.
func (f Format) Structured(w io.Writer, value any) (done bool, err error) {
	switch f {
	case JSON:
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return true, encoder.Encode(value)
	case YAML:
		data, err := yaml.Marshal(value)
		if err == nil {
			_, err = w.Write(data)
		}
		return true, err
	}
	return false, nil
}

// Column is a column of a table.
type Column[T any] struct {
	Header string
	Of     func(T) string
	// Wide columns appear only in the format Wide.
	Wide bool
}

// Rows writes rows in a format. An empty table has only its header, and an empty list of names has no output.
func Rows[T any](w io.Writer, f Format, rows []T, name func(T) string, columns ...Column[T]) error {
	if rows == nil {
		rows = []T{} // programs get an empty list
	}
	if done, err := f.Structured(w, rows); done {
		return err
	}
	if f == Name {
		for _, row := range rows {
			if _, err := fmt.Fprintln(w, name(row)); err != nil {
				return err
			}
		}
		return nil
	}
	columns = slices.DeleteFunc(slices.Clone(columns), func(c Column[T]) bool { return c.Wide && f != Wide })
	headers := make([]string, len(columns))
	for i, c := range columns {
		headers[i] = c.Header
	}
	table := NewTable(w, headers...)
	for _, row := range rows {
		cells := make([]string, len(columns))
		for i, c := range columns {
			cells[i] = c.Of(row)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}

// NewTable starts a table with tab-separated cells. Flush writes it.
func NewTable(w io.Writer, headers ...string) *tabwriter.Writer {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(headers) > 0 {
		fmt.Fprintln(table, strings.Join(headers, "\t"))
	}
	return table
}

// List joins texts for a cell; a dash for none.
func List(texts []string) string {
	if len(texts) == 0 {
		return "-"
	}
	return strings.Join(texts, ",")
}

// Permitted lists permissions for a cell; all is the text for no restriction.
func Permitted(restricted bool, texts []string, all string) string {
	switch {
	case !restricted:
		return all
	case len(texts) == 0:
		return "none"
	}
	return List(texts)
}

// Text returns text for a cell; a dash if it is empty.
func Text(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
