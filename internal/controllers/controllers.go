// Package controllers holds what the hub's controllers have in common: how they are added to a manager (this file), how they write (write.go), and what
// they remember of their last write (newest.go). Each controller is a package below.
package controllers

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Controller is what all controllers are to the program that runs them.
type Controller interface {
	// Name is the controller's in logs and metrics.
	Name() string
	// Register adds it to a manager.
	Register(manager.Manager) error
}

// Register adds controllers to a manager.
func Register(mgr manager.Manager, list []Controller) error {
	for _, c := range list {
		if err := c.Register(mgr); err != nil {
			return fmt.Errorf("registering controller %s: %w", c.Name(), err)
		}
	}
	return nil
}
