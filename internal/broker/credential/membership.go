// Package credential reads and writes a member's credentials: the join file, and the Secret that agents use.
//
// Everything here is pure: no package that talks to an API server is needed to read either.
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

// Membership is one cluster's place in a clusterset, and the credentials for it.
type Membership struct {
	// ClusterID is the id that the credentials are for.
	ClusterID names.ClusterID
	// Clusterset is the name of the clusterset, which is that of its namespace on the broker.
	Clusterset string
	// Server is the broker's URL, as the member's agents reach it.
	Server string
	// CA holds the certificates, in PEM, of which one has signed the broker's. Without any,
	// those of the system count.
	CA []byte
	// Token is a bearer token of the member's service account on the broker, or, in a join file that
	// was not used yet, of its joiner account.
	Token string
}

// Validate returns an error that says what is wrong with a membership.
func (m Membership) Validate() error {
	if _, err := names.ParseClusterID(m.ClusterID.String()); err != nil {
		return err
	}
	if m.Clusterset == "" {
		return errors.New("the clusterset's name is missing")
	}
	server, err := url.Parse(m.Server)
	if err != nil {
		return fmt.Errorf("the broker's URL: %w", err)
	}
	if server.Scheme != "https" || server.Host == "" {
		return fmt.Errorf("the broker's URL %q is not of the form https://HOST[:PORT]", m.Server)
	}
	if err := checkCA(m.CA); err != nil {
		return fmt.Errorf("the broker's certificate authority: %w", err)
	}
	claims, err := ParseToken(m.Token)
	if err != nil {
		return fmt.Errorf("the token: %w", err)
	}
	if !claims.MayAct(m.ClusterID, m.Clusterset) {
		return fmt.Errorf("the token is one of %s, which is not an account of cluster %q in clusterset %q", claims.Subject, m.ClusterID, m.Clusterset)
	}
	return nil
}

// checkCA makes sure that certificates, if there are any, are some.
func checkCA(ca []byte) error {
	rest, found := bytes.TrimSpace(ca), false
	for len(rest) > 0 {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return errors.New("it is not PEM")
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
		return errors.New("there is no certificate in it")
	}
	return nil
}

// SameBroker tells whether two memberships differ in the token alone, so that one can take
// the other's place without a new connection.
func (m Membership) SameBroker(other Membership) bool {
	return m.ClusterID == other.ClusterID && m.Clusterset == other.Clusterset &&
		m.Server == other.Server && bytes.Equal(m.CA, other.CA)
}

// From tells whether the member's token comes from the use of a join file. It does not if the
// token is still the file's own.
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
	return "Make a new join file, then join with it: " + command.Broker.Atoll("broker token create %[1]s --clusterset %[2]s --output %[1]s.join", m.ClusterID, m.Clusterset)
}

// UsedFile says what to do when a join file was used already, which its owner need not have done.
func (m Membership) UsedFile() string {
	return fmt.Sprintf("If an earlier attempt to join this cluster was interrupted, create a new join file. Otherwise another cluster has joined as %s. "+
		"Remove it first, which ends its exports in all clusters: %s. %s", m.ClusterID, command.Broker.Atoll("broker members remove %s --clusterset %s --force", m.ClusterID, m.Clusterset), m.NewFile())
}
