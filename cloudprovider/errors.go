package cloudprovider

import "errors"

// Reasons of an Error, also used in the condition LoadBalancerReady. Providers may add their own in CamelCase.
const (
	// ReasonFailed is the reason of errors without one.
	ReasonFailed = "ProviderFailed"
	// ReasonExhausted means that no address has all these ports free.
	ReasonExhausted = "AddressesExhausted"
	// ReasonAddressRefused means that the requested address is not available.
	ReasonAddressRefused = "AddressRefused"
	// ReasonPortConflict means that another MultiClusterService has the port on the address.
	ReasonPortConflict = "PortConflict"
	// ReasonUnsupported means that the provider supports none of the ports.
	ReasonUnsupported = "ProtocolNotSupported"
	// ReasonInvalidService means that invalid ports or backends were left out.
	ReasonInvalidService = "InvalidService"
	// ReasonInvalid means that an annotation of the MultiClusterService is invalid.
	ReasonInvalid = "InvalidOptions"
)

// Errors of single ports in a load balancer's status (corev1.PortStatus.Error).
const (
	// PortUnsupported means that the provider does not support the port's protocol.
	PortUnsupported = "lb.atoll.dev/ProtocolNotSupported"
	// PortNotBound means that the provider could not listen on the port.
	PortNotBound = "lb.atoll.dev/PortNotBound"
)

// Error is an error with a CamelCase reason.
type Error struct {
	Reason string
	Err    error
}

// Error returns the wrapped error's text.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// Reason returns the reason of an error, or ReasonFailed.
func Reason(err error) string {
	var reasoned *Error
	if errors.As(err, &reasoned) {
		return reasoned.Reason
	}
	return ReasonFailed
}
