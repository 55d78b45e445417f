package flow

// Trusting returns a pipeline that is built without a look for diamonds that stand still, so that a test can see whether they do.
func Trusting(p Pipeline) Pipeline {
	return Pipeline{p.leaves, &planned{trusting: true}}
}
