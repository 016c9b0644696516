// Command pictures draws pictures of docs/images from sources in docs/images/sources. It draws terminals from recorded
// output, and plots from results of the benchmark.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	images := flag.String("images", "../docs/images", "folder of the pictures; the folder sources in it has what they are drawn from")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run -C tools ./pictures [--images FOLDER]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := write(*images); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func write(images string) error {
	pictures, err := drawAll(filepath.Join(images, "sources"))
	if err != nil {
		return err
	}
	for name, svg := range pictures {
		if err := os.WriteFile(filepath.Join(images, name), []byte(svg), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// drawAll returns the pictures of all sources, by file name.
func drawAll(sources string) (map[string]string, error) {
	pictures := map[string]string{}
	transcripts, err := filepath.Glob(filepath.Join(sources, "*.txt"))
	if err != nil {
		return nil, err
	}
	for _, file := range transcripts {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		pictures[strings.TrimSuffix(filepath.Base(file), ".txt")+".svg"] = terminal(string(text))
	}
	results, err := os.ReadFile(filepath.Join(sources, "bench.json"))
	if err != nil {
		return nil, err
	}
	return pictures, plots(results, pictures)
}
