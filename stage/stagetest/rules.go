package stagetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// rules are the sentences of the contracts in package stage, and of this package's documentation, word by word; a test compares them.
var rules = map[string]string{
	"P1": "0 <= n <= len(dst), and nothing is written past len(dst).",
	"P2": "dst[:n] holds the next values in order; what is behind them has no meaning.",
	"P3": "n > 0 may come with an error; the n values count first.",
	"P4": "ErrEnd and other final errors repeat on every later call, without touching the outside.",
	"P5": "(0, nil) is returned only for an empty dst.",
	"P6": "An empty dst consumes nothing.",
	"P7": "Once ctx is done Pull returns within 100 ms with the context's cause. No value is lost: a later call with " +
		"another context goes on where this one stopped. A cancelled context is not the end of the stream.",
	"P8":  "dst is not kept after Pull has returned.",
	"P9":  "Pull has one caller at a time; it need not be safe for concurrent use.",
	"P10": "Close, where there is one, may be called more than once, and comes after the last Pull.",
	"P11": "The source reads no more from the outside than it hands out, plus a prefetch that it documents.",
	"P12": "A panic is a final error of the source.",

	"demand": "Pull waits for the first value only; it returns what it has instead of waiting for a second one.",

	"K1": "Push takes all of items and returns nil, or returns an error; *[BatchError] says which of them failed, and the " +
		"items it does not list were taken.",
	"K2": "Push is not called with an empty slice.",
	"K3": "Push does not change the slice, not even its order, and keeps neither it nor its memory; the values are its own.",
	"K4": "Once ctx is done Push returns soon, with the context's cause where it gave up.",
	"K5": "Push has one caller at a time unless flow.Workers says otherwise.",
	"K6": "Close, where there is one, may be called more than once, and comes after the last Push. It flushes, and its error counts.",

	"U1": "The publisher delivers its values in order, each once, and no more of them than were requested. Requests add up; " +
		"their sum stays at math.MaxInt64, which means without limit.",
	"U2": "Its calls of Deliver, Complete and Fail come one after another.",
	"U3": "The last call is Complete or Fail, and needs no demand. There is none behind a Cancel.",
	"U4": "Request(n) with n < 1 is reported by Fail. It does not panic.",
	"U5": "Request and Cancel may be called by any goroutine, also from inside Deliver, as often as one likes: the stack does " +
		"not grow. They return soon. Values that are at hand may be delivered within Request; others are not waited for.",
	"U6": "After Cancel both do nothing, at most what was still asked for is delivered, and the publisher forgets the Subscriber.",
	"U7": "Where Deliver takes fewer values than it is given, the publisher stops, as after a Cancel. The others are still its own.",

	"15": "What goes in comes out as it should: no value is lost, repeated or made up, at odd numbers and with pauses.",
	"16": "A message settles once: when all that was made of it has left, or at once where nothing is made of it. In a run without a " +
		"fault none fails.",
	"17": "The order that was declared holds, however long each call takes.",
	"18": "An error, a panic, a nil panic and a Goexit in user code are errors of the stage and stop the run. The message fails; what " +
		"else was inside is not done.",
	"19": "While nobody takes its results a part holds no more than it says.",
	"20": "A stop gets through within 100 ms, whether the part waits for input, for output or in user code. What is inside is given back.",
	"21": "What a part holds back is handed on at once when its input ends or is drained, and is not done when the run fails.",
	"22": "Hours without a value, and hours in which nobody takes a result, change nothing.",
	"23": "When downstream wants no more the part ends at once, without an error, and what is in front of it as well.",
	"24": "As many calls of user code run at the same time as declared, and never one more.",

	"28": "What an edge has taken over it hands out once, in the order that was declared, which is first in, first out for all items or " +
		"for those of a key, however many write and read at the same time.",
	"29": "Whatever is offered is delivered, dropped with a reason or refused, exactly one of these, and the counts say the same.",
	"30": "An item heavier than MaxWeight is passed alone or refused. It waits neither for ever nor do others because of it.",

	"left":   "Nothing of it runs on behind Close; where it has none, behind the end.",
	"ctx":    "ctx is for the call of Subscribe, which may have to connect. The subscription outlives it.",
	"second": "A publisher that serves one subscription only answers the second with an error.",
}

// findings are the violations that a check has found.
type findings struct {
	rule string
	errs []error
}

func (f *findings) addf(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf(format+"\n\trule %s: %s", append(args, f.rule, rules[f.rule])...))
}

// any reports whether something was found, which makes most further steps of a check pointless.
func (f *findings) any() bool { return len(f.errs) > 0 }

// breaches are the violations that one check has found, in whichever goroutine and of whichever rule.
type breaches struct {
	mu   sync.Mutex
	errs []error
}

const mostBreaches = 10 // of which the first says most

func (b *breaches) addf(rule, format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.errs) == mostBreaches {
		return
	}
	f := findings{rule: rule, errs: b.errs}
	f.addf(format, args...)
	b.errs = f.errs
}

func (b *breaches) found() []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.errs)
}

// shown is a value as a message shows it: text in quotes, and not much of it.
func shown(v any) string {
	const most = 200
	text := ""
	switch v := v.(type) {
	case string:
		text = strconv.Quote(v[:min(len(v), most)])
	case []byte:
		text = strconv.Quote(string(v[:min(len(v), most)]))
	default:
		text = fmt.Sprintf("%+v", v)
	}
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

func allShown[T any](vs []T) string {
	texts := make([]string, len(vs))
	for i, v := range vs {
		texts[i] = shown(v)
	}
	return "[" + strings.Join(texts, " ") + "]"
}
