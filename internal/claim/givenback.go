package claim

// GivenBack is how an item ends that nobody has processed, because of cause: it is to be delivered again, and is not to blame.
func GivenBack(cause error) Outcome { return Outcome{Kind: Failed, GivenBack: true, Err: cause} }

// worse reports whether o is worse than p. An item that has failed is worse than one that was given back.
func (o Outcome) worse(p Outcome) bool {
	if o.Kind != p.Kind {
		return o.Kind > p.Kind
	}
	return o.Kind == Failed && p.GivenBack && !o.GivenBack
}
