// Package credential reads and writes a member's credentials: the join file, and the Secret that agents use.
//
// It imports no package that talks to an API server.
package credential

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"

	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Membership is a cluster's membership in a clusterset, with its credentials.
type Membership struct {
	// ClusterID is the id that the credentials are for.
	ClusterID names.ClusterID
	// Clusterset is the clusterset's name, which is its namespace on the broker.
	Clusterset string
	// Server is the broker's URL for the member's agents.
	Server string
	// CA are the PEM certificates that may sign the broker's; empty means the system's.
	CA []byte
	// Registry is the registry of the images in a join file; empty means the published ones.
	Registry string
	// Token is a bearer token of the member's service account, or in an unused join file, of the joiner account.
	Token string
}

// Validate returns an error that names the first invalid field.
func (m Membership) Validate() error {
	if _, err := names.ParseClusterID(m.ClusterID.String()); err != nil {
		return err
	}
	if m.Clusterset == "" {
		return errors.New("the clusterset's name is missing")
	}
	server, err := url.Parse(m.Server)
	if err != nil {
		return fmt.Errorf("the broker's URL is invalid: %w", err)
	}
	if server.Scheme != "https" || server.Host == "" {
		return fmt.Errorf("the broker's URL %q does not have the form https://HOST[:PORT]", m.Server)
	}
	if err := checkCA(m.CA); err != nil {
		return fmt.Errorf("the broker's certificate authority is invalid: %w", err)
	}
	claims, err := ParseToken(m.Token)
	if err != nil {
		return fmt.Errorf("the token is invalid: %w", err)
	}
	if !claims.MayAct(m.ClusterID, m.Clusterset) {
		return fmt.Errorf("the token belongs to %s, which is not an account of cluster %q in clusterset %q", claims.Subject, m.ClusterID, m.Clusterset)
	}
	return nil
}

// checkCA returns an error for data that has no valid certificates.
func checkCA(ca []byte) error {
	rest, found := bytes.TrimSpace(ca), false
	for len(rest) > 0 {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return errors.New("the certificate authority data is not PEM")
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return err
		}
		found = true
	}
	if len(ca) > 0 && !found {
		return errors.New("the certificate authority data contains no certificate")
	}
	return nil
}

// SameBroker reports whether two memberships differ only in the token, so that the connection can stay.
func (m Membership) SameBroker(other Membership) bool {
	return m.ClusterID == other.ClusterID && m.Clusterset == other.Clusterset &&
		m.Server == other.Server && bytes.Equal(m.CA, other.CA)
}

// From reports whether the member's token was obtained with a join file. The file's own token does not count.
func (m Membership) From(file Membership) bool {
	mine, err := ParseToken(m.Token)
	if err != nil {
		return false
	}
	used, err := ParseToken(file.Token)
	return err == nil && used.AccountUID != "" && m.ClusterID == file.ClusterID && m.Clusterset == file.Clusterset &&
		mine.Binding.Name == names.MemberCredential(file.ClusterID, used.AccountUID)
}

// NewFile says how to get a new join file for the cluster.
func (m Membership) NewFile() string {
	return "Create a new join file, then join with that file: " + command.Broker.Atoll("broker token create %[1]s --clusterset %[2]s --output %[1]s.join", m.ClusterID, m.Clusterset)
}

// UsedFile says what to do if a join file was already used, possibly by somebody else.
func (m Membership) UsedFile() string {
	return fmt.Sprintf("If an earlier attempt to join this cluster was interrupted, create a new join file. Otherwise another cluster has joined as %s. "+
		"Remove that cluster first, which ends its exports in all clusters: %s. %s", m.ClusterID, command.Broker.Atoll("broker members remove %s --clusterset %s --force", m.ClusterID, m.Clusterset), m.NewFile())
}
