package haproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// queryTimeout applies to one HAProxy command.
const queryTimeout = 5 * time.Second

// query sends a command to a HAProxy socket and returns the answer. Commands contain no line break or semicolon.
func query(ctx context.Context, socket, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := fmt.Fprintln(conn, command); err != nil {
		return "", fmt.Errorf("sending %q to HAProxy: %w", command, err)
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil { // otherwise the master waits for more input
		return "", fmt.Errorf("sending %q to HAProxy: %w", command, err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return "", fmt.Errorf("reading HAProxy's answer to %q: %w", command, err)
	}
	return strings.TrimSpace(string(answer)), nil
}

// errRefused means that HAProxy rejected a command.
var errRefused = errors.New("HAProxy rejected the command")

// do sends a command whose answer on success is empty or the given text.
func do(ctx context.Context, socket, success, command string) error {
	answer, err := query(ctx, socket, command)
	if err == nil && answer != "" && answer != success {
		err = fmt.Errorf("%w %q: %s", errRefused, command, answer)
	}
	return err
}

type serverState struct {
	resting bool // gets no new connections
	down    bool // does not answer
}

// Bits of a server's administrative state (HAProxy's management guide, section 9.3, "show servers state").
const (
	adminMaintenance = 0x23 // forced, inherited, or because it has no address
	adminDrain       = 0x18 // forced or inherited
	// 0x04 (disabled in the configuration) stays set after a server is made ready, so it is ignored.
)

// errNoSection means that HAProxy's configuration lacks the section.
var errNoSection = errors.New("HAProxy's configuration has no such section")

// states reads the servers of a section, or those of all sections for "". Sections without servers are missing then.
func states(ctx context.Context, socket, section string) (map[string]map[netip.AddrPort]serverState, error) {
	answer, err := query(ctx, socket, strings.TrimSpace("show servers state "+section))
	if err != nil {
		return nil, err
	}
	found, ok := parseStates(answer)
	switch {
	case !ok && strings.HasPrefix(answer, "Can't find backend"):
		return nil, errNoSection
	case !ok:
		return nil, fmt.Errorf("HAProxy's list of servers cannot be read: %s", answer)
	case found[section] == nil && section != "":
		found[section] = map[netip.AddrPort]serverState{}
	}
	return found, nil
}

// parseStates parses the answer to "show servers state" (HAProxy's management guide, section 9.3). ok is false for
// any other text.
func parseStates(answer string) (found map[string]map[netip.AddrPort]serverState, ok bool) {
	const name, server, operational, administrative, columns = 1, 3, 5, 6, 8
	found = map[string]map[netip.AddrPort]serverState{}
	for line := range strings.Lines(answer) {
		if strings.HasPrefix(line, "# be_id") {
			ok = true
		}
		f := strings.Fields(line)
		if !ok || strings.HasPrefix(line, "#") || len(f) < columns {
			continue
		}
		a, named := parseServerName(f[server])
		admin, err := strconv.ParseUint(f[administrative], 0, 32)
		if !named || err != nil {
			continue
		}
		if found[f[name]] == nil {
			found[f[name]] = map[netip.AddrPort]serverState{}
		}
		resting := admin&(adminMaintenance|adminDrain) != 0
		found[f[name]][a] = serverState{resting: resting, down: !resting && f[operational] == "0"}
	}
	return found, ok
}

// change updates the servers of a section, new ones first, and keeps have current. Removed servers rest until their
// connections end. The error names servers that HAProxy did not add; the others still change.
func change(ctx context.Context, socket string, l listen, have map[netip.AddrPort]serverState) error {
	at := func(a netip.AddrPort) string { return l.Name + "/" + serverName(a) }
	want := map[netip.AddrPort]bool{}
	var refused []error
	rest := func(a netip.AddrPort) error {
		if state, there := have[a]; !there || state.resting {
			return nil
		}
		if err := do(ctx, socket, "", "set server "+at(a)+" state maint"); err != nil {
			return err
		}
		have[a] = serverState{resting: true}
		return nil
	}
	for _, a := range slices.Concat(l.Servers, l.Resting) {
		want[a] = true
		if _, there := have[a]; !there {
			if err := do(ctx, socket, "New server registered.", fmt.Sprintf("add server %s %s %s", at(a), a, serverArguments(l.ProxyProtocol))); err != nil {
				if !errors.Is(err, errRefused) {
					return err
				}
				refused = append(refused, err)
				continue
			}
			have[a] = serverState{resting: true}
		}
	}
	for _, a := range l.Servers {
		if !have[a].resting {
			continue
		}
		// New servers start with checks off (HAProxy's management guide, section 9.3, "add server"). A failed earlier
		// call may have left either state, so send both commands.
		for _, command := range []string{"enable health " + at(a), "set server " + at(a) + " state ready"} {
			if err := do(ctx, socket, "", command); err != nil {
				return err
			}
		}
		have[a] = serverState{}
	}
	for _, a := range l.Resting {
		if err := rest(a); err != nil {
			return err
		}
	}
	for a := range have {
		if want[a] {
			continue
		}
		if err := rest(a); err != nil {
			return err
		}
		if do(ctx, socket, "Server deleted.", "del server "+at(a)) == nil {
			delete(have, a)
		}
	}
	return errors.Join(refused...)
}
