// Package output prints results as tables, JSON or YAML.
package output

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/atoll-mcs/atoll/internal/mcs/printable"
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

// Write writes a value: in the formats for programs as it is, in the others by print.
func Write[T any](w io.Writer, f Format, value T, print func(io.Writer, T) error) error {
	switch f {
	case JSON:
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	case YAML:
		data, err := yaml.Marshal(value)
		if err == nil {
			_, err = Raw(w).Write(data)
		}
		return err
	}
	return print(w, value)
}

// Columns are the columns of a table.
type Columns[T any] struct {
	Headers []string
	// Wide are the headers of the last columns, which appear only in the format Wide.
	Wide []string
	// Cells returns the cells of a row, for Text.
	Cells func(T) []any
}

// Rows writes rows in a format. An empty table has only its header, and an empty list of names has no output.
func Rows[T any](w io.Writer, f Format, rows []T, name func(T) string, columns Columns[T]) error {
	if rows == nil {
		rows = []T{} // programs get an empty list
	}
	return Write(w, f, rows, func(w io.Writer, rows []T) error {
		if f == Name {
			for _, row := range rows {
				if _, err := fmt.Fprintln(w, name(row)); err != nil {
					return err
				}
			}
			return nil
		}
		headers := columns.Headers
		if f == Wide {
			headers = slices.Concat(headers, columns.Wide)
		}
		table := NewTable(w, headers...)
		for _, row := range rows {
			var cells []string
			for _, cell := range columns.Cells(row)[:len(headers)] {
				cells = append(cells, Text(cell))
			}
			fmt.Fprintln(table, strings.Join(cells, "\t"))
		}
		return table.Flush()
	})
}

// NewTable starts a table with tab-separated cells. Flush writes it.
func NewTable(w io.Writer, headers ...string) *tabwriter.Writer {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(headers) > 0 {
		fmt.Fprintln(table, strings.Join(headers, "\t"))
	}
	return table
}

// Permitted returns permissions for a cell; all is the text for no restriction.
func Permitted(restricted bool, texts []string, all string) any {
	switch {
	case !restricted:
		return all
	case len(texts) == 0:
		return "none"
	}
	return texts
}

// Text returns the text of a cell, on one line: lists with commas, and a dash for what is empty.
func Text(value any) string {
	text := fmt.Sprint(value)
	if list, ok := value.([]string); ok {
		text = strings.Join(list, ",")
	}
	return cmp.Or(printable.Line(text), "-")
}
