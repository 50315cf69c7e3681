package hitratio

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "hitratio: %% of %d requests, over %d seeds; an entry is %d bytes in all caches\n\n", r.Requests, r.Seeds, r.EntryBytes)
	fmt.Fprintln(t, "trace\tentries\tspeccache\tristretto\totter\tlru\tlead over ristretto\tover otter")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%s\t%s\n", row.Trace, row.Capacity,
			100*row.SpecCache, 100*row.Ristretto, 100*row.Otter, 100*row.LRU,
			lead(row.SpecCache-row.Ristretto), lead(row.SpecCache-row.Otter))
	}
	return t.Flush()
}

func lead(by float64) string {
	text := fmt.Sprintf("%+.2f", 100*by)
	if by < 0 {
		text += " BELOW"
	}
	return text
}
