package credential

import "bytes"

// Locate returns the URL at which a program outside the member's pods reaches a broker. "" stands for the URL that the pods use.
type Locate func(Membership) string

// At locates every broker at one URL, "" for that of the member's pods.
func At(url string) Locate { return func(Membership) string { return url } }

// URL is where the program reaches the broker of a membership. A nil Locate stands for the URL that the pods use.
func (l Locate) URL(m Membership) string {
	if l != nil {
		if url := l(m); url != "" {
			return url
		}
	}
	return m.Server
}

// ByCA locates a broker by its certificate authority among API servers that the user knows, by their URLs. A laptop often reaches the
// broker at another URL than pods do. It returns "" unless just one URL has that authority: the member's token is sent to no other server.
func (m Membership) ByCA(known map[string][]byte) string {
	found, authority := "", bytes.TrimSpace(m.CA)
	if len(authority) == 0 {
		return ""
	}
	for url, ca := range known {
		if !bytes.Equal(bytes.TrimSpace(ca), authority) {
			continue
		}
		if found != "" {
			return ""
		}
		found = url
	}
	return found
}
