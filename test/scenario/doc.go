// Package scenario runs scenarios: scripts in txtar form that say what
// happens in a lab of real clusters and what must come of it.
//
//	# Two clusters export the same service; the third reaches both.
//	namespace shop
//	on c1,c2 apply web.yaml
//	on c1,c2 export shop/web
//	eventually http c3/shop/client http://web.shop.svc.clusterset.local x40 then backends c1=2 c2=2
//
// Scripts are in testdata, one scenario each; docs/contributing/scenarios.md is their
// manual. The language is the one of cmd/go's scripts (words, quotes, $NAME,
// "!" in front of what must fail), with two differences that clusters ask for:
// "eventually" and "steadily" repeat a chain of verbs, and a script is checked
// whole, with file and line, before any cluster is started. Neither of the
// known engines does both, hence this one.
package scenario
