// Package doctor has the diagnostic code of atoll check, status, explain, verify, bench and gather.
//
// What finds out (survey, checkup, outpost with probe) is apart from what judges (report, check), which takes values and returns them. Nothing here changes what
// users have made. Start with survey.Read, which reads a cluster and its broker, and report.NewStatus, what atoll status makes of it.
package doctor
