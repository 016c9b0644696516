package podrunner

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"

	"github.com/atoll-mcs/atoll/lab/podrunner/internal/logfile"
)

// attached are the clients that see a container's output as it comes.
type attached struct {
	mu      sync.Mutex
	clients []*client
}

// client takes output until it is closed. A client that is too slow loses the
// rest, for it must not stop the container.
type client struct {
	chunks chan chunk
}

type chunk struct {
	stderr bool
	data   []byte
}

// backlog is how many chunks a client may be behind.
const backlog = 1024

func (a *attached) add() *client {
	c := &client{chunks: make(chan chunk, backlog)}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients = append(a.clients, c)
	return c
}

func (a *attached) remove(c *client) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients = slices.DeleteFunc(a.clients, func(have *client) bool { return have == c })
}

func (a *attached) stdout(data []byte) { a.send(false, data) }
func (a *attached) stderr(data []byte) { a.send(true, data) }

func (a *attached) send(stderr bool, data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.clients) == 0 {
		return
	}
	c := chunk{stderr, bytes.Clone(data)}
	a.clients = slices.DeleteFunc(a.clients, func(to *client) bool {
		select {
		case to.chunks <- c:
			return false
		default:
			close(to.chunks)
			return true
		}
	})
}

// end tells all clients that no more will come.
func (a *attached) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.clients {
		close(c.chunks)
	}
	a.clients = nil
}

// copy writes a client's chunks until they end, or writing fails.
func (c *client) copy(stdout, stderr io.Writer) {
	for chunk := range c.chunks {
		to := stdout
		if chunk.stderr {
			to = stderr
		}
		if to == nil {
			continue
		}
		if _, err := to.Write(chunk.data); err != nil {
			return
		}
	}
}

// lastLines is the end of the container's log.
func (i *instance) lastLines() []byte {
	var out bytes.Buffer
	tail := int64(80)
	_ = logfile.Read(context.Background(), i.log.Path(), nil, logfile.Options{Tail: &tail}, &out)
	return out.Bytes()[max(0, out.Len()-maxMessage):]
}
