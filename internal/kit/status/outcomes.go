package status

// Outcome is how it went when a controller did its part for a service.
type Outcome struct {
	// Waiting is that it was not tried: what it depends on is not known yet.
	Waiting bool
	// Failure says what could not be done, and is being tried again; "" where nothing failed.
	Failure string
	// Warnings are about what was done.
	Warnings []Warning
}

// Warning is something that people should know of a service that works.
type Warning struct {
	// Reason is a single word, the reason of an Event.
	Reason  string
	Message string
}
