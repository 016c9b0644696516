package setup

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/joining"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

// explain adds the meaning and the fix to an error of the broker.
func explain(err error, as credential.Membership, now time.Time) error {
	fresh := as.NewFile()
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	var already *Hint
	var unanswered *joining.NoResponseError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &already):
		return err
	case errors.As(err, &unanswered):
		return hint("Run the same command again. If the command reports that the join file was used already: "+fresh, "connecting to the broker at %s: %w", as.Server, err)
	case apierrors.IsAlreadyExists(err) && isJoiner(as):
		return hint(as.UsedFile(), "the join file for cluster %s was used already, but this cluster has no record of using it", as.ClusterID)
	case errors.As(err, &authority):
		return hint("Check that the URL belongs to the broker. If the broker's certificate authority has changed: "+fresh,
			"the server at %s is not the broker of the join file: the server's certificate is not signed by the certificate authority in the join file", as.Server)
	case errors.As(err, &hostname):
		return hint("Create a join file with a URL that the broker's certificate contains: "+command.Broker.Atoll("broker token create %s --clusterset %s --server URL", as.ClusterID, as.Clusterset),
			"the broker at %s has a certificate for different hostnames: %w", as.Server, err)
	case errors.As(err, &invalid):
		return hint("Check the clock of this machine, and the broker's certificate", "the broker at %s has a certificate that is not valid: %w", as.Server, err)
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err) && isJoiner(as):
		return hint(fresh, "the broker at %s does not accept the token: %s", as.Server, why(as, now))
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return hint("If the cluster was removed from the clusterset: "+fresh,
			"the broker at %s refuses cluster %s in clusterset %s: %w", as.Server, as.ClusterID, as.Clusterset, err)
	case unreachable(err):
		return hint("Check the URL, and firewalls between this machine and the broker. If this machine must use a different URL for the broker, add --broker-server URL. "+
			"If only the cluster's pods can reach the broker, add --offline. To create a join file with a different URL: "+command.Broker.Atoll("broker token create %s --clusterset %s --server URL", as.ClusterID, as.Clusterset),
			"the broker at %s cannot be reached from this machine: %w", as.Server, err)
	}
	return fmt.Errorf("connecting to the broker at %s: %w", as.Server, err)
}

func isJoiner(as credential.Membership) bool {
	claims, err := credential.ParseToken(as.Token)
	return err == nil && claims.IsJoiner(as.ClusterID, as.Clusterset)
}

// why returns the reason why a token is not accepted, as far as it is known locally.
func why(as credential.Membership, now time.Time) string {
	claims, err := credential.ParseToken(as.Token)
	switch {
	case err != nil:
		return err.Error()
	case claims.IsJoiner(as.ClusterID, as.Clusterset) || now.After(claims.Expires):
		return claims.WhyRefused(now)
	}
	return "the token was revoked, or a later join has replaced the token"
}

func unreachable(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	var timeout net.Error
	return errors.As(err, &op) || errors.As(err, &dns) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout() || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}
