package status

// Problem is the result of a controller's work for a service.
type Problem struct {
	// Waiting is true if it was not tried, because its inputs are unknown.
	Waiting bool
	// Failure is the failure that the controller retries; "" for none.
	Failure string
	// Warnings are about the completed work.
	Warnings []Warning
}

// Warning is a problem of a service that works.
type Warning struct {
	// Reason is a single word, as an Event's reason.
	Reason  string
	Message string
}
