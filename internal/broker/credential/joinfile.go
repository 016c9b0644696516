package credential

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	joinFileVersion = "atoll.dev/v1alpha1"
	joinFileKind    = "JoinFile"
)

type joinFile struct {
	APIVersion           string `json:"apiVersion"`
	Kind                 string `json:"kind"`
	ClusterID            string `json:"clusterID"`
	Clusterset           string `json:"clusterset"`
	Server               string `json:"server"`
	CertificateAuthority string `json:"certificateAuthority,omitempty"`
	Registry             string `json:"registry,omitempty"`
	Token                string `json:"token"`
}

// JoinFile encodes a membership as a join file.
func (m Membership) JoinFile() ([]byte, error) {
	body, err := yaml.Marshal(joinFile{
		APIVersion: joinFileVersion, Kind: joinFileKind,
		ClusterID: m.ClusterID.String(), Clusterset: m.Clusterset,
		Server: m.Server, CertificateAuthority: string(m.CA), Registry: m.Registry, Token: m.Token,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the join file: %w", err)
	}
	claims, err := ParseToken(m.Token)
	if err != nil {
		return nil, fmt.Errorf("writing the join file: the token is invalid: %w", err)
	}
	header := fmt.Sprintf("# This file joins one cluster to clusterset %s as %s. It works once, until %s: %s\n# Anyone who has this file can join as that cluster. Keep the file secret.\n",
		m.Clusterset, m.ClusterID, claims.Expires.UTC().Format(time.RFC3339), command.Of(m.ClusterID.String()).Atoll("join FILE"))
	return append([]byte(header), body...), nil
}

// ParseJoinFile reads a join file. Errors name the problem and the fix.
func ParseJoinFile(data []byte) (Membership, error) {
	again := "; create a join file with: " + command.Broker.Atoll("broker token create CLUSTER")
	if len(bytes.TrimSpace(data)) == 0 {
		return Membership{}, errors.New("the join file is empty" + again)
	}
	var kind struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal(data, &kind); err != nil {
		return Membership{}, fmt.Errorf("this is not a join file: %w%s", err, again)
	}
	if kind.Kind != joinFileKind {
		return Membership{}, fmt.Errorf("this is not a join file: its kind is %q, not %q%s", kind.Kind, joinFileKind, again)
	}
	if kind.APIVersion != joinFileVersion {
		return Membership{}, fmt.Errorf("the join file has version %q, but this atoll reads version %q: use the version of atoll that created the join file", kind.APIVersion, joinFileVersion)
	}
	var f joinFile
	if err := yaml.UnmarshalStrict(data, &f); err != nil {
		return Membership{}, fmt.Errorf("reading the join file: %w%s", err, again)
	}
	m := Membership{
		ClusterID: names.ClusterID(f.ClusterID), Clusterset: f.Clusterset,
		Server: f.Server, CA: []byte(f.CertificateAuthority), Registry: f.Registry, Token: f.Token,
	}
	if err := m.Validate(); err != nil {
		return Membership{}, fmt.Errorf("reading the join file: %w%s", err, again)
	}
	return m, nil
}
