package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// signature is the name of the signature of sums, as cosign verify-blob and openssl dgst take it.
const signature = sums + ".sig"

// sign writes the signature of the checksums. The same key and checksums give the same signature (RFC 6979).
func (o options) sign(checksums []byte) error {
	key, err := readKey(o.signingKey)
	if err != nil {
		return fmt.Errorf("reading the signing key: %w", err)
	}
	digest := sha256.Sum256(checksums)
	signed, err := key.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return fmt.Errorf("signing: %w", err)
	}
	return writeFile(filepath.Join(o.out, signature), []byte(base64.StdEncoding.EncodeToString(signed)+"\n"))
}

// readKey reads an ECDSA key in PEM, which has no password.
func readKey(path string) (*ecdsa.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return nil, errors.New("the file has no ECDSA key in PEM: make one with openssl ecparam -name prime256v1 -genkey -noout")
		}
		if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
			return key, nil
		}
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if ec, ok := key.(*ecdsa.PrivateKey); ok {
				return ec, nil
			}
		}
		text = rest
	}
}

// provenanceFile says of which commit, and how, the files of a release were made (SLSA provenance 1.0 in an in-toto statement).
const provenanceFile = "provenance.json"

const (
	repository = "https://github.com/atoll-mcs/atoll"
	buildType  = repository + "/blob/main/docs/contributing/release.md"
)

type (
	statement struct {
		Type          string     `json:"_type"`
		Subject       []resource `json:"subject"`
		PredicateType string     `json:"predicateType"`
		Predicate     predicate  `json:"predicate"`
	}
	resource struct {
		Name   string            `json:"name,omitempty"`
		URI    string            `json:"uri,omitempty"`
		Digest map[string]string `json:"digest,omitempty"`
	}
	predicate struct {
		BuildDefinition struct {
			BuildType            string            `json:"buildType"`
			ExternalParameters   map[string]string `json:"externalParameters"`
			InternalParameters   map[string]string `json:"internalParameters"`
			ResolvedDependencies []resource        `json:"resolvedDependencies"`
		} `json:"buildDefinition"`
		RunDetails struct {
			Builder map[string]string `json:"builder"`
		} `json:"runDetails"`
	}
)

// provenance returns the statement about files.
func (o options) provenance(files []resource) ([]byte, error) {
	s := statement{Type: "https://in-toto.io/Statement/v1", Subject: files, PredicateType: "https://slsa.dev/provenance/v1"}
	build := &s.Predicate.BuildDefinition
	build.BuildType = buildType
	build.ExternalParameters = map[string]string{"VERSION": o.version}
	build.InternalParameters = map[string]string{"SOURCE_DATE_EPOCH": fmt.Sprint(o.created.Unix())}
	build.ResolvedDependencies = []resource{{URI: "git+" + repository, Digest: map[string]string{"gitCommit": o.revision}}}
	s.Predicate.RunDetails.Builder = map[string]string{"id": buildType}
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}
