// Package flow builds and runs bounded streaming pipelines.
package flow
