package haproxy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// configuration is the template's data.
type configuration struct {
	// Version identifies the structure. HAProxy reports it as its description, so any hub can tell which configuration
	// runs.
	Version string
	// Dir holds HAProxy's sockets, and States is the file with initial server states.
	Dir, States string
	HardStop    string
	MaxReloads  int
	Listens     []listen
}

// idle is the longest timeout that HAProxy supports. TCP keep-alives find dead peers, as in the embedded provider.
const idle = "24d"

var page = template.Must(template.New("haproxy.cfg").Funcs(template.FuncMap{
	"seconds": func(d time.Duration) int64 { return max(1, int64(d/time.Second)) },
	"server":  serverName, "arguments": serverArguments,
}).Parse(`# atoll-hub replaces this file when the load balancers change. Do not edit the file.
global
  description {{.Version}}
  stats socket {{.Dir}}/worker.sock mode 600 level admin expose-fd listeners
  hard-stop-after {{.HardStop}}
  mworker-max-reloads {{.MaxReloads}}
  server-state-file {{.States}}
  # Another HAProxy on the same address would silently get a part of the connections.
  noreuseport
peers atoll
  peer local unix@{{.Dir}}/peer.sock
defaults
  mode tcp
  load-server-state-from-file global
  balance roundrobin
  timeout connect 3s
  timeout check 2s
  timeout client ` + idle + `
  timeout server ` + idle + `
  retries 3
  option redispatch 1
  option splice-auto
  option clitcpka
  clitcpka-idle 15s
  clitcpka-intvl 15s
  clitcpka-cnt 3
  option srvtcpka
  srvtcpka-idle 15s
  srvtcpka-intvl 15s
  srvtcpka-cnt 3
{{- range .Listens}}
listen {{.Name}}
{{- range .Binds}}
  bind {{.}}
{{- end}}
{{- with .MaxConnections}}
  maxconn {{.}}
{{- end}}
{{- with .ConnectionRate}}
  rate-limit sessions {{.}}
{{- end}}
{{- with .ProxyProtocol}}
  # proxy-protocol {{.}}
{{- end}}
{{- range .Sources}}
  acl admitted src {{.}}
{{- end}}
{{- if .Sources}}
  tcp-request connection reject if !admitted
{{- end}}
{{- if .Affinity}}
  stick-table type ipv6 size 100k expire {{seconds .Affinity}}s peers atoll
  stick on src
{{- end}}
{{- $proxy := .ProxyProtocol}}
{{- range .Servers}}
  server {{server .}} {{.}} {{arguments $proxy}}
{{- end}}
{{- range .Resting}}
  server {{server .}} {{.}} {{arguments $proxy}} disabled
{{- end}}
{{- end}}
`))

// serverName encodes a server's address. HAProxy allows no brackets in names, so an underscore separates the port.
func serverName(a netip.AddrPort) string { return fmt.Sprintf("%s_%d", a.Addr(), a.Port()) }

func parseServerName(name string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(name, "_")
	a, err := netip.ParseAddr(host)
	number, portErr := strconv.ParseUint(port, 10, 16)
	return netip.AddrPortFrom(a, uint16(number)), err == nil && portErr == nil
}

// serverArguments are the same in the configuration and on the runtime socket. A server goes down after one failed
// connection or two failed checks, and comes back after one successful check.
func serverArguments(proxyProtocol int) string {
	arguments := "check inter 5s fastinter 1s downinter 1s fall 2 rise 1 observe layer4 error-limit 1 on-error mark-down"
	switch proxyProtocol {
	case 1:
		arguments += " send-proxy"
	case 2:
		arguments += " send-proxy-v2"
	}
	return arguments
}

// render writes the configuration without places that cannot be listened on.
func render(c configuration, all []*balancer, unbound map[netip.AddrPort]error) (string, error) {
	c.Listens = nil
	for _, b := range all {
		for _, l := range b.Listens {
			var bound []netip.AddrPort
			for _, place := range l.Binds {
				if unbound[place] == nil {
					bound = append(bound, place)
				}
			}
			if l.Binds = bound; len(bound) > 0 {
				c.Listens = append(c.Listens, l)
			}
		}
	}
	var err error
	if c.Version, err = version(c); err != nil {
		return "", err
	}
	var text strings.Builder
	if err := page.Execute(&text, c); err != nil {
		return "", fmt.Errorf("rendering HAProxy's configuration: %w", err)
	}
	return text.String(), nil
}

// version is a digest of the structure without servers. The template's comment per section covers the servers' common
// arguments.
func version(c configuration) (string, error) {
	listens := c.Listens
	c.Listens = nil
	for _, l := range listens {
		c.Listens = append(c.Listens, listen{structure: l.structure})
	}
	digest := sha256.New()
	if err := page.Execute(digest, c); err != nil {
		return "", fmt.Errorf("rendering HAProxy's configuration: %w", err)
	}
	return "atoll-" + hex.EncodeToString(digest.Sum(nil))[:24], nil
}

// outline is the part that outlineOf reads back from a configuration.
type outline struct {
	version string
	places  []netip.AddrPort // listening places
}

func outlineOf(text string) (o outline) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && f[0] == "description":
			o.version = f[1]
		case len(f) == 2 && f[0] == "bind":
			if place, err := netip.ParseAddrPort(f[1]); err == nil {
				o.places = append(o.places, place)
			}
		}
	}
	return o
}
