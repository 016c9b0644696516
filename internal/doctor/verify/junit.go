package verify

import (
	"encoding/xml"
	"fmt"
	"io"
)

// The JUnit report format that CI systems read.
type (
	junitSuites struct {
		XMLName xml.Name   `xml:"testsuites"`
		Suite   junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitMessage `xml:"failure"`
		Skipped *junitMessage `xml:"skipped"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
	}
)

// JUnit writes the report in JUnit's format, with clusters as classes.
func (r Report) JUnit(w io.Writer) error {
	suite := junitSuite{Name: "atoll verify", Tests: len(r.Cases), Failures: r.Failed()}
	total := 0.0
	for _, c := range r.Cases {
		j := junitCase{Class: c.Cluster, Name: c.Name, Time: seconds(c.Seconds), Output: c.Detail}
		switch {
		case c.Failure != "":
			j.Failure = &junitMessage{c.Failure}
		case c.Skipped != "":
			j.Skipped = &junitMessage{c.Skipped}
			suite.Skipped++
		}
		total += c.Seconds
		suite.Cases = append(suite.Cases, j)
	}
	suite.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(junitSuites{Suite: suite}); err != nil {
		return fmt.Errorf("writing the JUnit report: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }
