package credential

import "bytes"

// Locate returns the broker's URL for a program outside the member's pods; "" means the pods' URL.
type Locate func(Membership) string

// At returns the same URL for every broker; "" means the pods' URL.
func At(url string) Locate { return func(Membership) string { return url } }

// URL returns the broker's URL for a membership. A nil Locate returns the pods' URL.
func (l Locate) URL(m Membership) string {
	if l != nil {
		if url := l(m); url != "" {
			return url
		}
	}
	return m.Server
}

// APIServer is an API server that a user knows, with the certificate authority (PEM) that it has there.
type APIServer struct {
	URL string
	CA  []byte
}

// ByCA finds the broker's URL among API servers that the user knows, by its certificate authority: a laptop may use
// another URL than pods. It returns "" unless exactly one URL matches: the token goes to no other server.
func (m Membership) ByCA(known []APIServer) string {
	found, authority := "", bytes.TrimSpace(m.CA)
	if len(authority) == 0 {
		return ""
	}
	for _, k := range known {
		if !bytes.Equal(bytes.TrimSpace(k.CA), authority) {
			continue
		}
		if found != "" && found != k.URL {
			return ""
		}
		found = k.URL
	}
	return found
}
