package lost

import (
	"context"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// store is the ConfigMap: the members that are withdrawn, with the time since when, for people.
type store struct{ Notes }

// read returns what is stored. What is no cluster id was written by somebody else.
func (s store) read(ctx context.Context) (map[string]string, error) {
	stored, err := s.Read(ctx)
	if err != nil {
		return nil, err
	}
	ours := map[string]string{}
	for id, since := range stored {
		if _, err := names.ParseClusterID(id); err == nil {
			ours[id] = since
		}
	}
	return ours, nil
}
