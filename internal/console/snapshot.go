package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
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

// TakeSnapshot reads clusters for at most patience, and writes one page that needs no server. What has not been read then is in it as
// such. locate and direct say how to reach the broker. redact, if not nil, changes the texts of clusters.
func TakeSnapshot(ctx context.Context, targets []checkup.Target, locate credential.Locate, direct *rest.Config, patience time.Duration, redact func([]byte) []byte, w io.Writer) error {
	c, err := New(targets, locate, direct)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { c.Run(ctx) })
	defer all.Wait()
	defer cancel()
	return c.WriteSnapshot(ctx, patience, redact, w)
}

// WriteSnapshot is TakeSnapshot for a console that runs.
func (c *Console) WriteSnapshot(ctx context.Context, patience time.Duration, redact func([]byte) []byte, w io.Writer) error {
	if err := c.settle(ctx, patience); err != nil {
		return err
	}
	s := Snapshot{Change: c.Now(), Status: map[string]*report.Status{}, Errors: map[string]string{}, Events: map[string]*Events{}}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, cluster := range s.Overview.Clusters {
		if cluster.State != stateRead {
			continue
		}
		all.Go(func() {
			status, err := c.status(ctx, cluster.ID)
			events, failed := c.events(ctx, cluster.ID)
			mu.Lock()
			defer mu.Unlock()
			s.Status[cluster.ID], s.Events[cluster.ID] = status, events
			if err := errors.Join(err, failed); err != nil {
				s.Errors[cluster.ID] = err.Error()
			}
		})
	}
	all.Wait()
	data := encode(s)
	if redact != nil {
		var err error
		if data, err = redacted(data, redact); err != nil {
			return err
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
`, hash(script), hash(style), html.EscapeString("Atoll "+s.Overview.Clusterset), style, inScript(data), script)
	return err
}

// redacted changes the texts in JSON, but no keys: services can be called api-token.
func redacted(data json.RawMessage, redact func([]byte) []byte) (json.RawMessage, error) {
	var value any
	read := json.NewDecoder(bytes.NewReader(data))
	read.UseNumber()
	if err := read.Decode(&value); err != nil {
		return nil, err
	}
	var in func(any) any
	in = func(value any) any {
		switch v := value.(type) {
		case string:
			return string(redact([]byte(v)))
		case []any:
			for i := range v {
				v[i] = in(v[i])
			}
		case map[string]any:
			for key := range v {
				v[key] = in(v[key])
			}
		}
		return value
	}
	return encode(in(value)), nil
}

// settle waits until no cluster is still being read, and the services are described, but at most patience.
func (c *Console) settle(ctx context.Context, patience time.Duration) error {
	v, _, err := c.watch()
	if err != nil {
		return err
	}
	defer c.leave(v)
	late := time.NewTimer(patience)
	defer late.Stop()
	every := time.NewTicker(collectTime)
	defer every.Stop()
	for {
		c.view.Lock()
		o, settled := c.overview, c.settled
		c.view.Unlock()
		reading := !settled || !o.Broker.Members && o.Broker.Error == "" && len(o.Broker.Unread) == 0
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
		case <-late.C:
			return nil
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
