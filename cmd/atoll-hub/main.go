// Command atoll-hub runs the controllers of MultiClusterServices.
package main

import "github.com/atoll-mcs/atoll/hub"

func main() { hub.Main() }
