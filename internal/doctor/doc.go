// Package doctor contains the diagnostic code of atoll check, status, explain, verify, bench and gather.
//
// Collecting facts (survey, checkup, outpost, probe) is separate from evaluating them (report, check), which has no
// side effects. No code here changes objects of users. Start with survey.Read and report.NewStatus, which is the core
// of atoll status.
package doctor
