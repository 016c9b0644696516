package token

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"
)

var start = time.Unix(1_800_000_000, 0)

// issued returns an unsigned token that is valid for an hour, issued some time after start.
func issued(after time.Duration, subject string) string {
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	at := start.Add(after).Unix()
	return encode("{}") + "." + encode(fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, subject, at, at+3600)) + ".x"
}

// rebound returns the same token from a later join.
func rebound(after time.Duration, subject string) string {
	parts := strings.Split(issued(after, subject), ".")
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		panic(err)
	}
	text := strings.TrimSuffix(string(claims), "}") + `,"kubernetes.io":{"secret":{"name":"s","uid":"2"}}}`
	return parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(text)) + ".x"
}

func TestDecide(t *testing.T) {
	mine, later := issued(0, "member"), issued(time.Minute, "member")
	const fifth = 12 * time.Minute
	for name, c := range map[string]struct {
		state state
		now   time.Duration // after start
		want  step
	}{
		"a new token is left for a fifth of its life":            {state{used: mine, stored: mine}, 0, step{after: fifth}},
		"the remaining time until the renewal":                   {state{used: mine, stored: mine}, 10 * time.Minute, step{after: 2 * time.Minute}},
		"the token is renewed in time":                           {state{used: mine, stored: mine}, fifth, step{renew: true}},
		"jitter delays the renewal":                              {state{used: mine, stored: mine, jitter: 0.1}, fifth, step{after: fifth / 10}},
		"an expired token is renewed":                            {state{used: mine, stored: mine}, 2 * time.Hour, step{renew: true}},
		"a clock that is behind makes no difference":             {state{used: mine, stored: mine}, -time.Hour, step{after: fifth}},
		"a clock that is ahead does not cause repeated renewals": {state{used: mine, stored: mine, renewedAt: start.Add(5 * time.Hour)}, 5 * time.Hour, step{after: fifth}},
		"the join file's is exchanged at once":                   {state{used: mine, stored: mine, joiner: true}, 0, step{renew: true}},
		"a failure delays the next attempt":                      {state{used: mine, stored: mine, failures: 1, triedAt: start.Add(fifth)}, fifth, step{after: 10 * time.Second}},
		"longer each time":                                       {state{used: mine, stored: mine, failures: 3, triedAt: start.Add(fifth)}, fifth, step{after: 40 * time.Second}},
		"but not for ever":                                       {state{used: mine, stored: mine, failures: 300, triedAt: start.Add(fifth)}, fifth, step{after: 5 * time.Minute}},
		"and tries again":                                        {state{used: mine, stored: mine, failures: 1, triedAt: start}, 10 * time.Second, step{renew: true}},
		"a newer token of another replica is used":               {state{used: mine, stored: later}, time.Minute, step{use: later}},
		"a newer token is used after failures too":               {state{used: mine, stored: later, failures: 9, triedAt: start}, time.Minute, step{use: later}},
		"a newer own token is stored":                            {state{used: later, stored: mine}, time.Minute, step{store: true}},
		"a token of another account is always used":              {state{used: later, stored: issued(0, "joiner")}, time.Minute, step{use: issued(0, "joiner")}},
		"the join file's is replaced, whenever that began":       {state{used: mine, stored: issued(0, "joiner"), replaced: issued(0, "joiner")}, 0, step{store: true}},
		"a later join's is used, whenever that began":            {state{used: later, stored: rebound(0, "member")}, time.Minute, step{use: rebound(0, "member")}},
		"without a Secret the token stays in use":                {state{used: mine}, 0, step{after: fifth}},
		"and is renewed":                                         {state{used: mine}, fifth, step{renew: true}},
		"rubbish in the Secret is not used":                      {state{used: mine, stored: "x"}, 0, step{after: fifth}},
		"rubbish in use waits for better":                        {state{used: "x", stored: "x"}, 0, step{after: lastRetry}},
	} {
		if got := decide(c.state, start.Add(c.now)); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
