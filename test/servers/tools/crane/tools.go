//go:build tools

// Pins the program ../../build.sh compiles.
package main

import _ "github.com/google/go-containerregistry/cmd/crane"
