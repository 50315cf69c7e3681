// Package web is the read-only web as an environment: visit a URL, click a
// link.
//
//	f := web.New(web.Config{})
//	defer f.Close()
//	a, _ := web.Visit("https://example.org/")
//	page, err := f.Do(ctx, a)    // title, Markdown, links
//	a, err = page.Click("Calls") // visit {"url": "https://example.org/calls/"}
//
// [Fetcher.Environment] is all that a cache needs to know: what clicks mean,
// which guesses may run ahead, how large pages are.
//
// What Do returns is a whole page that a host sent as HTML with status 200 or
// 203. Everything else is an error with a type, so that a failure is never
// remembered as a page. Error texts say what to do, and may be shown to the
// model that chose the action.
//
// # URLs
//
// URLs are read as browsers read them (the WHATWG's URL standard), and one
// canonical form serves as the key and as what is asked for. What net/http
// would dial differently is refused, and so are other schemes than http and
// https, and URLs with a user in them. Fragments are dropped: they name places
// on a page. References in pages that are not UTF-8 have their queries encoded
// as UTF-8, where browsers would use the page's encoding.
//
// # What runs ahead
//
// A guess must be a link of a page that the session has seen, on the host of
// one, not by http where that one came by https, and must not sound like an
// action ("/logout", "?do=delete") or offer a download; see [PolicyError]. Ports
// are 80, 443 and those that the target itself went to. Config.AheadHosts and
// Config.AheadTemplates widen that and Config.AheadRefuse narrows it. The target
// may visit what it likes.
//
// Runs ahead obey the host's robots.txt (RFC 9309), which the first one at an
// origin reads in its own time, and leave a host alone for a while that
// answered 429 or 503. Neither holds for the target's own visits, and a target
// that waits for a run ahead does not wait for a robots.txt.
//
// The environment names the host of each visit, so that a cache bounds what runs
// ahead at one; the target's own visits never wait.
//
// # Who a scope is
//
// Each scope has connections of its own. Config.Identity gives it cookies and
// credentials, which runs ahead carry only where [Identity] lends them: a guess is
// refused where the target would send what it may not, and fails where its answer
// would change the scope's cookies. When a visit of the target's has changed them,
// what the scope has read before is hidden ([actions.Changed]), as it is after a
// Clear-Site-Data. Which hosts are busy, and what robots.txt files say, is known
// to all scopes.
//
// # How long pages are kept
//
// As RFC 9111 has it for a cache of one user, and never longer than the rule
// says: no-store, no-cache, max-age, Expires and Age count, a tenth of what has
// passed since Last-Modified where there is nothing better, and a Vary that
// tells runs ahead from others. What is stale is asked for anew. See also
// [Page.Private].
//
// # Hostile pages
//
// Pages are a stranger's. Reading one takes time and memory in proportion to
// its length, and its text is at most four times as long, and 64 KiB. A page with
// more than 50,000 links, 4 MiB of their URLs, or a tag or text of 4 MiB is too
// large. So whatever hosts answer, three visits at one time take less than 64 MiB.
//
// # Charsets
//
// Pages are decoded as browsers decode them: by a byte order mark, the
// Content-Type header, or a <meta>, in this order. Where none of them says, a page
// that is UTF-8 throughout is UTF-8, even if a <meta> says windows-1252; else a
// later <meta> counts, or an XML declaration, or it is windows-1252. No language is
// guessed from bytes, so that a page in another legacy charset has to say so. What
// does not decode becomes U+FFFD.
//
// # What this is not
//
// No scripts run, no forms are sent, and style sheets are not read: a link
// that only they hide counts as one. A jar is not emptied by Clear-Site-Data. One
// Fetcher serves any number of sessions; if several caches share it, name their
// scopes.
//
// # Concurrency
//
// A Fetcher and a Page may be used from several goroutines at once. The
// package starts no goroutines but those of net/http, and one beside each
// reading of a robots.txt, which ends with it.
package web
