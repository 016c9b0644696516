package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/doctor/checkup"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
)

// Snapshot is what a page without a server shows.
type Snapshot struct {
	Change
	Status map[string]*report.Status `json:"status"`
	Errors map[string]string         `json:"errors"`
	Events map[string]*Events        `json:"events"`
}

// TakeSnapshot reads clusters, and writes one page that needs no server. locate and direct say how to reach the broker.
func TakeSnapshot(ctx context.Context, targets []checkup.Target, locate credential.Locate, direct *rest.Config, w io.Writer) error {
	c, err := New(targets, locate, direct)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { c.Run(ctx) })
	defer all.Wait()
	defer cancel()
	return c.WriteSnapshot(ctx, w)
}

// WriteSnapshot waits until all clusters have been read, or do not answer, and writes one page that needs no server.
func (c *Console) WriteSnapshot(ctx context.Context, w io.Writer) error {
	if err := c.settle(ctx); err != nil {
		return err
	}
	s := Snapshot{Change: c.Now(), Status: map[string]*report.Status{}, Errors: map[string]string{}, Events: map[string]*Events{}}
	for _, cluster := range s.Overview.Clusters {
		if cluster.State != stateRead {
			continue
		}
		status, err := c.status(ctx, cluster.ID)
		if err != nil {
			s.Errors[cluster.ID] = err.Error()
			continue
		}
		s.Status[cluster.ID] = status
		if s.Events[cluster.ID], err = c.events(ctx, cluster.ID); err != nil {
			s.Errors[cluster.ID] = err.Error()
		}
	}
	script, err := assets.ReadFile("assets/app.js")
	if err != nil {
		return err
	}
	style, err := assets.ReadFile("assets/app.css")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'">
<title>%s</title><style>%s</style></head><body><div id="app"></div>
<script type="application/json" id="snapshot">%s</script><script>%s</script></body></html>
`, hash(script), hash(style), html.EscapeString("Atoll "+s.Overview.Clusterset), style, inScript(encode(s)), script)
	return err
}

// settle waits until no cluster is still being read, and the services are described.
func (c *Console) settle(ctx context.Context) error {
	v, _, err := c.watch()
	if err != nil {
		return err
	}
	defer c.leave(v)
	every := time.NewTicker(collectTime)
	defer every.Stop()
	for {
		c.view.Lock()
		o, settled := c.overview, c.settled
		c.view.Unlock()
		reading := !settled || !o.Broker.Read && o.Broker.Error == ""
		for _, cluster := range o.Clusters {
			reading = reading || cluster.State == stateReading
		}
		c.mu.Lock()
		reading = reading || len(c.dirty) > 0 || c.busy
		c.mu.Unlock()
		if !reading {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("reading the clusters: %w", ctx.Err())
		case <-v.wake:
		case <-every.C:
		}
	}
}

// hash is a source in a Content Security Policy.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// inScript makes JSON safe in an element of HTML: no tag can begin in it.
func inScript(text []byte) []byte { return bytes.ReplaceAll(text, []byte("<"), []byte(`\u003c`)) }
