package render

// UnknownServiceRanges says what does not work while a member's Service ranges are unknown.
const UnknownServiceRanges = "the cluster's Service ranges are unknown, because only Kubernetes 1.33 and later publish ServiceCIDR objects. " +
	"Advertise mode cluster-ip is not safe. Other clusters' endpoints with an address of a Service of this cluster are not refused. " +
	"A dual-stack cluster exports and imports only its default IP family"
