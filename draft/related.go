package draft

import (
	"slices"
	"strings"

	"github.com/kljensen/snowball/english"
)

// relatedWords says what links are called that answer a question with certain
// words: general English, not the names of any site.
var relatedWords = relatedTable([][2]string{
	{"when date deadline due", "date deadline schedule calendar"},
	{"schedule agenda timetable session talk keynote event", "program schedule agenda"},
	{"chair committee organizer editor board member", "committee organization organizer people board team"},
	{"where venue location place city", "venue location travel hotel contact"},
	{"fee cost price pay discount ticket", "registration fee price ticket"},
	{"apply submit submission requirement proposal", "call submission apply author"},
	{"hotel accommodation stay lodging transport airport", "hotel accommodation travel venue"},
	{"visa invitation letter", "visa invitation travel"},
	{"award prize winner honor recipient", "award prize honor winner"},
	{"grant subsidy scholarship funding financial", "grant subsidy scholarship funding aid"},
	{"job position recruit recruitment hire career vacancy", "job career recruitment vacancy"},
	{"founder founded history established", "about history company"},
	{"email phone telephone contact address", "contact"},
	{"professor faculty teacher researcher dean", "faculty people staff"},
	{"revenue profit dividend shareholder earnings", "investor financial report"},
	{"sponsor sponsorship funded partner", "sponsor partner"},
	{"release update version patch announced", "news update release blog"},
})

// relatedTable maps the stem of each word on the left to those on the right.
func relatedTable(rows [][2]string) map[string][]string {
	table := make(map[string][]string)
	for _, row := range rows {
		for from := range strings.FieldsSeq(row[0]) {
			from = english.Stem(from, true)
			for to := range strings.FieldsSeq(row[1]) {
				if to = english.Stem(to, true); !slices.Contains(table[from], to) {
					table[from] = append(table[from], to)
				}
			}
		}
	}
	return table
}
