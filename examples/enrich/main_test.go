package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOrdersOfACustomerStayInOrder(t *testing.T) {
	out, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), orders(120), out); err != nil {
		t.Fatalf("run() = %v, want nil", err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	want := "120 orders of 6 customers, 0 out of order, discounts add up to 620 %\n"
	if string(got) != want {
		t.Fatalf("output = %q, want %q", got, want)
	}
}
