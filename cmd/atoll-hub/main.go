// Command atoll-hub is the controller of MultiClusterServices.
package main

import "github.com/atoll-mcs/atoll/hub"

func main() { hub.Main() }
