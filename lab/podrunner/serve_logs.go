package podrunner

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/atoll-mcs/atoll/lab/podrunner/internal/logfile"
)

// logs serves `kubectl logs`.
func (h *handlers) logs(w http.ResponseWriter, req *http.Request) {
	c, ok := h.container(w, req)
	if !ok {
		return
	}
	query := req.URL.Query()
	options, err := logOptions(query, time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	path, live := c.logPath, (*logfile.Log)(nil)
	if c.run != nil {
		live = c.run.log
	}
	if query.Get("previous") == "true" {
		path, live = c.previous, nil
		if _, err := os.Stat(path); path == "" || err != nil {
			http.Error(w, fmt.Sprintf("previous terminated container %q in pod %q not found",
				req.PathValue("container"), req.PathValue("pod")), http.StatusBadRequest)
			return
		}
	} else if c.waiting != "" {
		http.Error(w, fmt.Sprintf("container %q in pod %q is waiting to start: %s",
			req.PathValue("container"), req.PathValue("pod"), c.waiting), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	out := &flushing{w: w, control: http.NewResponseController(w)}
	if options.Follow { // the client waits for the header
		_ = out.control.Flush()
	}
	if err := logfile.Read(req.Context(), path, live, options, out); err != nil && req.Context().Err() == nil {
		h.runner.log.Debug("serving log", "path", path, "error", err)
	}
}

// logOptions reads the query as the API's PodLogOptions.
func logOptions(query url.Values, now time.Time) (logfile.Options, error) {
	o := logfile.Options{Follow: query.Get("follow") == "true", Timestamps: query.Get("timestamps") == "true"}
	number := func(name string) (*int64, error) {
		text := query.Get(name)
		if text == "" {
			return nil, nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("invalid %s %q", name, text)
		}
		return &n, nil
	}
	var err error
	if o.Tail, err = number("tailLines"); err != nil {
		return o, err
	}
	limit, err := number("limitBytes")
	if err != nil {
		return o, err
	}
	if limit != nil {
		o.Limit = *limit
	}
	since, err := number("sinceSeconds")
	if err != nil {
		return o, err
	}
	if since != nil {
		o.Since = now.Add(-time.Duration(*since) * time.Second)
	}
	if text := query.Get("sinceTime"); text != "" {
		if o.Since, err = time.Parse(time.RFC3339, text); err != nil {
			return o, fmt.Errorf("invalid sinceTime %q", text)
		}
	}
	if stream := strings.ToLower(query.Get("stream")); stream == logfile.Stdout || stream == logfile.Stderr {
		o.Stream = stream
	}
	return o, nil
}

// flushing sends every write on at once.
type flushing struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (f *flushing) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if err == nil {
		err = f.control.Flush()
	}
	return n, err
}
