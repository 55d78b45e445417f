// Package natstest has servers for tests that need more than an embedded one: a server in a process of its own, which can be killed,
// and a cluster whose leaders can be made to step down.
package natstest
