// Package scenario runs scenarios: scripts in txtar form that change a lab of real clusters and
// check the results.
//
//	# Two clusters export the same service; the third reaches both.
//	namespace shop
//	on c1,c2 apply web.yaml
//	on c1,c2 export shop/web
//	eventually http c3/shop/client http://web.shop.svc.clusterset.local x40 then backends c1=2 c2=2
//
// Scripts are in testdata, one scenario each; docs/contributing/scenarios.md is the manual. The
// language is that of cmd/go's scripts (words, quotes, $NAME, "!" before a command that must
// fail), with two differences: "eventually" and "steadily" repeat a chain of verbs, and a
// script is checked completely, with file and line, before any cluster starts. No existing
// engine does both.
package scenario
