// Package promises holds the tests that are about the whole tree and no package of its own: what docs/reliability.md says can be
// shown by the commands that it names, and the library keeps out of what belongs to the program (ports, the default mux, logs).
package promises
