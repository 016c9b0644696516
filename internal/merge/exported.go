package merge

import "github.com/atoll-mcs/atoll/internal/metadata"

// Exported returns the exported labels and annotations that an import may bear, in maps that
// can be added to.
func (r Resolution) Exported() metadata.Set {
	kept, _ := metadata.Exportable(metadata.Set{Labels: r.Labels, Annotations: r.Annotations}) // the exporter says what not
	return kept
}
