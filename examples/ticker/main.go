// Command ticker shows prices on a screen that is slower than the exchange: what comes while it draws is merged, so that it is
// always up to date, and no trade is lost from the sums.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// quote is what the screen shows: the last price, and what was traded since the last quote.
type quote struct {
	price  int
	volume int
	trades int
}

// The exchange has a trade every millisecond; the screen needs ten for a quote.
const (
	trades = 100
	every  = time.Millisecond
	draw   = 10 * time.Millisecond
)

func run(ctx context.Context, out io.Writer) error {
	total := quote{}
	err := flow.From(stage.Ticker(every)).
		Take(trades).
		Map(exchange()).
		Conflate(merge).
		ForEach(func(_ context.Context, q quote) error {
			time.Sleep(draw)
			total = merge(total, q)
			_, err := fmt.Fprintf(out, "price %3d, %2d trades since the last quote\n", q.price, q.trades)
			return err
		}).
		Run(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d trades, volume %d\n", total.trades, total.volume)
	return err
}

// exchange makes a trade of each tick: the price goes up by one, and ten pieces change hands.
func exchange() func(time.Time) quote {
	price := 100
	return func(time.Time) quote {
		price++
		return quote{price: price, volume: 10, trades: 1}
	}
}

// merge keeps the newer price, and adds up what was traded.
func merge(waiting, next quote) quote {
	return quote{price: next.price, volume: waiting.volume + next.volume, trades: waiting.trades + next.trades}
}
