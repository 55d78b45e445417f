package jetstream

import (
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
)

// role is what somebody wants of a stream.
type role int

const (
	making   role = 1 << iota // it is being configured
	sending                   // messages are going to be stored in it
	fetching                  // a consumer is going to read it
)

// streamUse is what a stream is wanted for.
type streamUse struct {
	role      role
	policy    flow.Policy // making, sending: what happens to a message that finds it full
	unbounded bool        // that it has no limit is intended
}

// checkStream finds everything about a stream that is wrong for its use.
func checkStream(info *jetstream.StreamInfo, u streamUse) findings {
	var fs findings
	where := fmt.Sprintf("stream %q", info.Config.Name)
	for _, c := range streamChecks {
		if c.roles&u.role == 0 || !c.wrong(info, u) {
			continue
		}
		fs = append(fs, &finding{severity: c.severity, where: where, setting: c.setting, text: c.text, err: c.err})
	}
	return fs
}

// streamCheck is one thing that may be wrong.
type streamCheck struct {
	roles    role
	severity severity
	setting  string
	wrong    func(info *jetstream.StreamInfo, u streamUse) bool
	text     string
	err      error
}

var streamChecks = []streamCheck{
	{
		making | sending | fetching, never, "MaxMsgs, MaxBytes", func(i *jetstream.StreamInfo, u streamUse) bool {
			return unlimited(i.Config.MaxMsgs) && unlimited(i.Config.MaxBytes) && !u.unbounded
		},
		"it may grow without limit; set one of them, or Unbounded (MaxAge and MaxMsgsPerSubject are no bounds)", broker.ErrUnbounded,
	},
	{
		sending, never, "NoAck", func(i *jetstream.StreamInfo, _ streamUse) bool { return i.Config.NoAck },
		"it confirms nothing, so nobody would know what is stored", nil,
	},
	{
		sending, never, "Sealed", func(i *jetstream.StreamInfo, _ streamUse) bool { return i.Config.Sealed },
		"it takes no more messages", nil,
	},
	{
		sending, never, "Mirror", func(i *jetstream.StreamInfo, _ streamUse) bool { return i.Config.Mirror != nil },
		"a mirror takes messages of its origin only", nil,
	},
	{
		making | sending, unless, "Discard", func(i *jetstream.StreamInfo, u streamUse) bool {
			return u.policy != flow.DropOldest && i.Config.Discard == jetstream.DiscardOld && limited(i)
		},
		"is old: where it is full it deletes messages that nobody has read, and says nothing; all but DropOldest need new", nil,
	},
	{
		making | sending, unless, "Discard", func(i *jetstream.StreamInfo, u streamUse) bool {
			return u.policy == flow.DropOldest && i.Config.Discard == jetstream.DiscardNew
		},
		"is new: where it is full it refuses messages; old is needed for DropOldest", nil,
	},
	{
		making | sending, unless, "Retention", func(i *jetstream.StreamInfo, u streamUse) bool {
			return u.policy == flow.Block && i.Config.Retention == jetstream.LimitsPolicy &&
				i.Config.Discard == jetstream.DiscardNew && i.Config.MaxAge == 0 && limited(i)
		},
		"is limits without MaxAge: acknowledged messages stay, so once it is full Block would wait for ever", nil,
	},
	{
		making | sending, unless, "MaxMsgsPerSubject", func(i *jetstream.StreamInfo, u streamUse) bool {
			return u.policy != flow.DropOldest && !unlimited(i.Config.MaxMsgsPerSubject) && !i.Config.DiscardNewPerSubject
		},
		"without DiscardNewPerSubject: a subject at its limit loses its oldest message, and nothing is said", nil,
	},
	{
		making | sending, unless, "MaxMsgSize", func(i *jetstream.StreamInfo, _ streamUse) bool {
			return !unlimited(i.Config.MaxBytes) && unlimited(int64(i.Config.MaxMsgSize))
		},
		"is not set beside MaxBytes: one message that is larger empties a stream that drops, and waits for ever at one that refuses", nil,
	},
	{
		making | sending, unless, "MaxMsgSize", func(i *jetstream.StreamInfo, _ streamUse) bool {
			return !unlimited(i.Config.MaxBytes) && int64(i.Config.MaxMsgSize) > i.Config.MaxBytes
		},
		"is above MaxBytes: a message in between never fits", nil,
	},
	{
		sending, unless, "Retention", func(i *jetstream.StreamInfo, _ streamUse) bool {
			return i.Config.Retention == jetstream.InterestPolicy && i.State.Consumers == 0
		},
		"is interest, and there is no consumer: messages would be confirmed and thrown away", nil,
	},
	{
		making | sending | fetching, advice, "Replicas", func(i *jetstream.StreamInfo, _ streamUse) bool {
			return i.Config.Replicas <= 1 && i.Config.Storage == jetstream.FileStorage
		},
		"is 1: what was confirmed may be lost with its server's disk, or with its power", nil,
	},
	{
		making | sending | fetching, advice, "Storage", func(i *jetstream.StreamInfo, _ streamUse) bool {
			return i.Config.Storage == jetstream.MemoryStorage
		},
		"is memory: what was confirmed is lost when its servers stop", nil,
	},
}

// unlimited says whether a limit is none: the server answers -1, a configuration says 0.
func unlimited(limit int64) bool { return limit <= 0 }

func limited(i *jetstream.StreamInfo) bool {
	return !unlimited(i.Config.MaxMsgs) || !unlimited(i.Config.MaxBytes)
}
