package haproxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"
)

// askTimeout is for one question to HAProxy.
const askTimeout = 5 * time.Second

// ask sends a command to one of HAProxy's sockets and returns the answer. None of the commands
// has a line break in it, or a semicolon.
func ask(ctx context.Context, socket, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
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
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil { // the master waits for more, else
		return "", fmt.Errorf("sending %q to HAProxy: %w", command, err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return "", fmt.Errorf("reading HAProxy's answer to %q: %w", command, err)
	}
	return strings.TrimSpace(string(answer)), nil
}

// do sends a command that has no answer, or the given one, when it succeeds.
func do(ctx context.Context, socket, success, command string) error {
	answer, err := ask(ctx, socket, command)
	if err == nil && answer != "" && answer != success {
		err = fmt.Errorf("HAProxy refuses %q: %s", command, answer)
	}
	return err
}

// serverState is what HAProxy has of a server.
type serverState struct {
	resting bool // gets no new connections
	down    bool // does not answer
}

// states asks for all servers of a section.
func states(ctx context.Context, socket, section string) (map[netip.AddrPort]serverState, error) {
	answer, err := ask(ctx, socket, "show servers state "+section)
	if err != nil {
		return nil, err
	}
	return parseStates(section, answer)
}

// parseStates reads the answer (HAProxy's management guide, section 9.3, "show servers state").
func parseStates(section, answer string) (map[netip.AddrPort]serverState, error) {
	const name, server, operational, administrative, columns = 1, 3, 5, 6, 8
	found := map[netip.AddrPort]serverState{}
	seen := false
	for line := range strings.Lines(answer) {
		if strings.HasPrefix(line, "# be_id") {
			seen = true
		}
		f := strings.Fields(line)
		if strings.HasPrefix(line, "#") || len(f) < columns || f[name] != section {
			continue
		}
		if a, ok := parseServerName(f[server]); ok {
			resting := f[administrative] != "0"
			found[a] = serverState{resting: resting, down: !resting && f[operational] == "0"}
		}
	}
	if !seen {
		return nil, fmt.Errorf("HAProxy has nothing of section %s: %s", section, answer)
	}
	return found, nil
}

// change brings the servers of a section to what they should be, new ones first. have is kept
// current; a server with connections is left there, resting, until they have ended.
func change(ctx context.Context, socket string, l listen, have map[netip.AddrPort]serverState) error {
	at := func(a netip.AddrPort) string { return l.Name + "/" + serverName(a) }
	want := map[netip.AddrPort]bool{}
	rest := func(a netip.AddrPort) error {
		if have[a].resting {
			return nil
		}
		if err := do(ctx, socket, "", "set server "+at(a)+" state maint"); err != nil {
			return err
		}
		have[a] = serverState{resting: true}
		return nil
	}
	for _, a := range append(append([]netip.AddrPort{}, l.Servers...), l.Resting...) {
		want[a] = true
		if _, there := have[a]; !there {
			if err := do(ctx, socket, "New server registered.", fmt.Sprintf("add server %s %s %s", at(a), a, serverArguments(l.ProxyProtocol))); err != nil {
				return err
			}
			have[a] = serverState{resting: true}
		}
	}
	for _, a := range l.Servers {
		if !have[a].resting {
			continue
		}
		// Checks are off where it was added (HAProxy's management guide, section 9.3, "add server"), and on already
		// elsewhere. It is not known which of them it is when a former call has failed.
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
	return nil
}
