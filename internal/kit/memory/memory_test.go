package memory

import (
	"testing"
	"testing/fstest"
)

func TestOfContainer(t *testing.T) {
	for name, tt := range map[string]struct {
		file, content string
		want          int64
	}{
		"version 2":               {"memory.max", "536870912\n", 512 << 20},
		"version 2, no limit":     {"memory.max", "max\n", 0},
		"version 1":               {"memory/memory.limit_in_bytes", "1073741824\n", 1 << 30},
		"version 1, no limit":     {"memory/memory.limit_in_bytes", "9223372036854771712\n", 0},
		"no cgroups":              {"other", "1", 0},
		"not what was understood": {"memory.max", "1G\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ofContainer(fstest.MapFS{tt.file: {Data: []byte(tt.content)}}); got != tt.want {
				t.Errorf("%d bytes, want %d", got, tt.want)
			}
		})
	}
}
