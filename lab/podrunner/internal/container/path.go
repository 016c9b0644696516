package container

import (
	"fmt"
	"path"
	"strings"
)

// DefaultPath is the PATH of containers that set none.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// getenv returns the value that a name has last in env.
func getenv(env []string, name string) string {
	value := ""
	for _, e := range env {
		if k, v, ok := strings.Cut(e, "="); ok && k == name {
			value = v
		}
	}
	return value
}

// searchPath returns the first candidate for file that runnable accepts. A file
// with a slash is its own only candidate.
func searchPath(file, searchList string, runnable func(path string) error) (string, error) {
	if file == "" {
		return "", fmt.Errorf("exec: no command")
	}
	if strings.Contains(file, "/") {
		if err := runnable(file); err != nil {
			return "", fmt.Errorf("exec %q: %w", file, err)
		}
		return file, nil
	}
	if searchList == "" {
		searchList = DefaultPath
	}
	for _, dir := range strings.Split(searchList, ":") {
		if dir == "" {
			dir = "."
		}
		if candidate := path.Join(dir, file); runnable(candidate) == nil {
			return candidate, nil
		}
	}
	return "", fmt.Errorf("exec: %q: executable file not found in $PATH", file)
}
