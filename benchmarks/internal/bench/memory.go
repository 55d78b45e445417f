package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// childEnv makes the program a child that does the work of the memory row and reports its peak.
const childEnv = "WEIR_BENCH_ITEMS"

// ErrNoPeak says that the machine does not tell a process how much memory it has used.
var ErrNoPeak = errors.New("the peak memory of a process is only known on Linux")

// Memory is a workload whose peak memory must not depend on how long it runs. Each run is a process of its own.
type Memory struct {
	Row, What string
	Short     int // items of a short run
	Long      int // of a long one
	Target    int // MiB that a long run may take beyond a process that does nothing
	Run       func(n int) error
}

// flat is how many KiB a long run may take beyond a short one. What the runtime does on its own, the pages of one more thread
// for example, is in it.
const flat = 1024

// Child does the child's part and exits, if this process is one.
func (m *Memory) Child() {
	env, ok := os.LookupEnv(childEnv)
	if !ok {
		return
	}
	n, err := strconv.Atoi(env)
	if err == nil && n > 0 {
		err = m.Run(n)
	}
	var peak int
	if err == nil {
		peak, err = peakKiB()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(peak)
	os.Exit(0)
}

// Measure runs idle, short and long children in turn, and judges the medians.
func (m *Memory) Measure(rounds int) (Result, error) {
	if _, err := peakKiB(); err != nil {
		return Result{}, err
	}
	items := [3]int{0, m.Short, m.Long}
	var peaks [3][]float64
	for range rounds {
		for i, n := range items {
			kib, err := child(n)
			if err != nil {
				return Result{}, fmt.Errorf("%s: %w", m.Row, err)
			}
			peaks[i] = append(peaks[i], float64(kib))
		}
	}
	idle, short, long := Median(peaks[0]), Median(peaks[1]), Median(peaks[2])
	return Result{
		Row: m.Row, What: m.What, Against: "a process that does nothing",
		Value:    fmt.Sprintf("%+.2f MiB", (long-idle)/1024),
		Target:   fmt.Sprintf("<= %+d MiB, flat", m.Target),
		Met:      long-idle <= float64(m.Target)*1024 && long-short <= flat,
		Spread:   fmt.Sprintf("%+.2f..%+.2f", (slices.Min(peaks[2])-idle)/1024, (slices.Max(peaks[2])-idle)/1024),
		Weir:     fmt.Sprintf("%.1f MiB (%.1f after %d M items)", long/1024, short/1024, m.Short/1_000_000),
		Baseline: fmt.Sprintf("%.1f MiB", idle/1024),
	}, nil
}

// child runs a child over n items and returns its peak.
func child(n int) (kib int, err error) {
	exe, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("a run of %d items: %w", n, err)
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// peakKiB returns the most memory that this process has had resident.
func peakKiB() (int, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, ErrNoPeak
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
		}
	}
	return 0, ErrNoPeak
}
