package cloudprovider

import "errors"

// Reasons that an Error gives, which are those of the condition LoadBalancerReady too. Providers
// may have others of their own, in CamelCase.
const (
	// ReasonFailed is that of errors that give none.
	ReasonFailed = "ProviderFailed"
	// ReasonExhausted is that no address is left on which the ports are free.
	ReasonExhausted = "AddressesExhausted"
	// ReasonAddressRefused is that the address that was asked for can't be had.
	ReasonAddressRefused = "AddressRefused"
	// ReasonPortConflict is that another MultiClusterService has the port on the address.
	ReasonPortConflict = "PortConflict"
	// ReasonUnsupported is that the provider can't carry any of the ports.
	ReasonUnsupported = "ProtocolNotSupported"
	// ReasonInvalidService is that ports or backends were left out because no load balancer can have them.
	ReasonInvalidService = "InvalidService"
	// ReasonInvalid is that an annotation of the MultiClusterService can't be understood.
	ReasonInvalid = "InvalidOptions"
)

// Errors of single ports in a load balancer's status (corev1.PortStatus.Error).
const (
	// PortUnsupported is that the provider can't carry the port's protocol.
	PortUnsupported = "lb.atoll.dev/ProtocolNotSupported"
	// PortNotBound is that the provider could not listen on the port.
	PortNotBound = "lb.atoll.dev/PortNotBound"
)

// Error is an error with its reason in one word.
type Error struct {
	Reason string
	Err    error
}

// Error returns the wrapped error's text.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// Reason returns the reason that an error gives, or ReasonFailed.
func Reason(err error) string {
	var reasoned *Error
	if errors.As(err, &reasoned) {
		return reasoned.Reason
	}
	return ReasonFailed
}
