// SPDX-License-Identifier: GPL-2.0

// profile FILE...: adds up profiles as Go's pprof reads them, and prints them as
// "stackbuf count --folded" does.  Ends with a status if one is not valid, has a label or an
// address, or a sample type that is not events/count.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/google/pprof/profile"
)

func check(name string, p *profile.Profile) error {
	if err := p.CheckValid(); err != nil {
		return err
	}
	if len(p.SampleType) != 1 || p.SampleType[0].Type != "events" || p.SampleType[0].Unit != "count" {
		return fmt.Errorf("sample type %v", p.SampleType)
	}
	if p.TimeNanos == 0 || p.DurationNanos < 0 {
		return fmt.Errorf("time %d, duration %d", p.TimeNanos, p.DurationNanos)
	}
	for _, s := range p.Sample {
		if len(s.Label) != 0 || len(s.NumLabel) != 0 {
			return fmt.Errorf("labels %v", s.Label)
		}
		if s.Value[0] <= 0 {
			return fmt.Errorf("a sample of %d events", s.Value[0])
		}
	}
	for _, l := range p.Location {
		if l.Address != 0 {
			return fmt.Errorf("address %#x", l.Address)
		}
	}
	return nil
}

// A stack as a folded line has it: the outermost frame first
func folded(s *profile.Sample) string {
	var names []string

	for i := len(s.Location) - 1; i >= 0; i-- {
		l := s.Location[i]
		name := l.Line[0].Function.Name
		if m := l.Mapping; m != nil && m.File != "[kernel.kallsyms]" {
			name += "_" + m.File
		}
		names = append(names, name)
	}
	return strings.Join(names, ";")
}

func main() {
	total := map[string]int64{}

	for _, name := range os.Args[1:] {
		f, err := os.Open(name)
		if err == nil {
			var p *profile.Profile

			p, err = profile.Parse(f)
			f.Close()
			if err == nil {
				err = check(name, p)
			}
			if err == nil {
				for _, s := range p.Sample {
					total[folded(s)] += s.Value[0]
				}
			}
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(1)
		}
	}
	lines := []string{}
	for stack, n := range total {
		lines = append(lines, fmt.Sprintf("%s %d", stack, n))
	}
	sort.Strings(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}
