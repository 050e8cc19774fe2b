//go:build tools

// Pins the program ../../build.sh compiles beside the judge.
package main

import _ "github.com/coreos/butane/internal"
