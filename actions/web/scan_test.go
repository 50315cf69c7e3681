package web_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

func TestWhatIsTextToABrowserIsNoLink(t *testing.T) {
	for _, doc := range []string{
		`<svg><desc><textarea><a href=/no>no</a></textarea>`, `<svg><foreignObject><script>"<a href=/no>no</a>"</script>`,
		`<svg><b><script>"<a href=/no>no</a>"</script>`, `<math><mi><style><a href=/no>no</a></style>`, `<svg></p><xmp><a href=/no>no</a></xmp>`,
		`<svg><![CDATA[ > <a href=/no>no</a>]]></svg>`, `<svg><title><textarea><a href=/no>no</a></textarea></title></svg>`,
		`<template><svg></template><textarea><a href=/no>no</a></textarea>`,
	} {
		assert.Equal(t, []string{"yes -> https://site.example/yes"}, labelled(parse(t, home, `<a href=/yes>yes</a>`+doc)), doc)
	}
	for _, doc := range []string{
		`<svg><a href=/in>in</a></svg>`, `<svg><style></style><foreignObject><a href=/in>in</a></foreignObject></svg>`, `<svg><title>t</title></svg><a href=/in>in</a>`,
		`<svg><desc>d</svg><a href=/in>in</a>`, `<math><mtext><a href=/in>in</a></mtext></math>`,
	} {
		assert.Equal(t, []string{"in -> https://site.example/in"}, labelled(parse(t, home, doc)), doc)
	}
}

// The scanner reads a page without its tree. Whatever the markup is, it finds no
// link that the tree has not. (A <frameset> throws away what stands before it.)
func TestNoLinkIsFoundThatTheTreeOfThePageHasNot(t *testing.T) {
	parts := strings.Fields(`</a> <svg> </svg> <math> </math> <template> </template> <script> </script> <style> </style> <textarea> </textarea>
		<title> </title> <!-- --> --!> <!--> <select> </select> <table> </table> <tr><td> <p> </p> </br> <noscript> </noscript> <iframe> </iframe> <xmp> </xmp>
		<plaintext> <foreignObject> </foreignObject> <desc> <mi> <![CDATA[ ]]> <svg/> <script/> x " ' '> > <noembed> </noembed> <object> <b> <body> </head> </svg/>`)
	parts = append(parts, `<a title='`, `<font color=x>`, `<a href="/1`, `<a href=/1>`, `<a href=/1>`, `<a href=/1>`)
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 50_000 {
		var doc strings.Builder
		for range 2 + random.IntN(7) {
			doc.WriteString(parts[random.IntN(len(parts))])
		}
		page := parse(t, home, doc.String())
		root, err := html.Parse(strings.NewReader(doc.String()))
		require.NoError(t, err)
		anchors := 0
		for n := range root.Descendants() {
			if n.Type == html.ElementNode && n.Data == "a" {
				anchors++
			}
		}
		if len(page.Links()) > 0 {
			found++
			assert.Positive(t, anchors, doc.String())
		}
	}
	assert.Greater(t, found, 1000)
}
