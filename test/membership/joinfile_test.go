package membership

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/joining"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

func parsed(t *testing.T, file string) credential.Membership {
	t.Helper()
	m, err := credential.ParseJoinFile([]byte(file))
	noError(t, err)
	return m
}

func claimsOf(t *testing.T, token string) credential.Claims {
	t.Helper()
	claims, err := credential.ParseToken(token)
	noError(t, err)
	return claims
}

// accepted returns nil if the broker accepts a membership's token.
func accepted(t *testing.T, m credential.Membership) error {
	_, err := kubeAs(t, m).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	return err
}

func onBroker(name string) metav1.ObjectMeta { return objects.Meta(place, name) }

// A join file can create one Secret, once. Only the response to that request contains the
// Secret's UID. Without the UID, the file gets no token; with the UID, it gets only tokens of
// its member that are bound to the Secret. A member gets only tokens that are bound to its own
// Secret.
func TestTokensForOneselfOnly(t *testing.T) {
	deployBroker(t)
	must(t, joinFile(t, "c2"), "join - --no-workloads --context c2")
	member, _ := membershipOf(t, "c2")
	file, confusable := parsed(t, joinFile(t, "c1")), parsed(t, joinFile(t, "c1-x"))
	removedAfterwards(t, "c1", "c1-x")
	policiesHold(t, file)
	account := &corev1.ServiceAccount{ObjectMeta: onBroker("member-c1")}
	planes.Read(t, on[lab.Broker], account)
	joiner := types.UID(claimsOf(t, file.Token).AccountUID)
	good := func() *corev1.Secret { return rights.NewCredential(place, "c1", joiner, account.UID) }

	// Before the file is used.
	for what, change := range map[string]func(*corev1.Secret){
		"another member's name": func(s *corev1.Secret) { s.Name = strings.Replace(s.Name, "member-c1-", "member-c2-", 1) },
		"a longer id's name":    func(s *corev1.Secret) { s.Name = strings.Replace(s.Name, "member-c1-", "member-c1-x-", 1) },
		"another file's name": func(s *corev1.Secret) {
			s.Name = names.MemberCredential("c1", claimsOf(t, confusable.Token).AccountUID)
		},
		"data":    func(s *corev1.Secret) { s.Data = map[string][]byte{"a": []byte("b")} },
		"no type": func(s *corev1.Secret) { s.Type = "" },
		"an account's token": func(s *corev1.Secret) {
			s.Type, s.Annotations = corev1.SecretTypeServiceAccountToken, map[string]string{corev1.ServiceAccountNameKey: "member-c2"}
		},
		"an annotation":             func(s *corev1.Secret) { s.Annotations = map[string]string{"a": "b"} },
		"another member's label":    func(s *corev1.Secret) { s.Labels[names.LabelSourceCluster] = "c2" },
		"a finalizer":               func(s *corev1.Secret) { s.Finalizers = []string{"mallory.example/stay"} },
		"without the file as owner": func(s *corev1.Secret) { s.OwnerReferences = s.OwnerReferences[1:] },
		"the owners in another order": func(s *corev1.Secret) {
			slices.Reverse(s.OwnerReferences)
		},
		"an owner that does not exist": func(s *corev1.Secret) { s.OwnerReferences[0].UID = "0f1c2d3e-0000-4000-8000-000000000001" },
		"an owner that waits":          func(s *corev1.Secret) { s.OwnerReferences[0].BlockOwnerDeletion = ptr.To(true) },
		"another member as owner":      func(s *corev1.Secret) { s.OwnerReferences[1].Name = "member-c2" },
		"a Pod as owner":               func(s *corev1.Secret) { s.OwnerReferences[1].Kind = "Pod" },
	} {
		secret := good()
		change(secret)
		expectRefused(t, "applying a Secret with "+what, appliedBy(t, file, secret))
	}
	generated := good()
	generated.GenerateName, generated.Name = generated.Name[:len(generated.Name)-5], ""
	for what, err := range map[string]error{
		"with the file of c1-x, the Secret of c1": appliedBy(t, confusable, good()),
		"creating the Secret without its name":    asMember(t, file).Create(t.Context(), good()),
		"creating a Secret with a generated name": asMember(t, file).Create(t.Context(), generated),
	} {
		expectForbidden(t, what, err)
	}
	if n := usedAtOnce(t, confusable); n != 1 {
		t.Errorf("of many simultaneous uses of a file, %d succeeded", n)
	}
	planes.Succeeds(t, "using the file, as a dry run", appliedBy(t, file, good(), client.DryRunAll))

	// The file is used, and a copy of the file is used afterwards.
	bound, err := joining.Use(t.Context(), kubeAs(t, file), file)
	noError(t, err)
	if again, err := joining.Use(t.Context(), kubeAs(t, file), file); !apierrors.IsAlreadyExists(err) || again.UID != "" || strings.Contains(err.Error(), bound.UID) {
		t.Errorf("using the file again: %+v, %v", again, err)
	}
	for what, options := range map[string][]client.PatchOption{"using the file again": nil, "using the file again, as a dry run": {client.DryRunAll}} {
		again := good()
		if err := appliedBy(t, file, again, options...); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "already used") || again.UID != "" || strings.Contains(err.Error(), bound.UID) {
			t.Errorf("%s: %v, UID %q", what, err, again.UID)
		}
	}
	empty := &corev1.Secret{ObjectMeta: onBroker(bound.Name)}
	expectRefused(t, "applying nothing to the Secret", appliedBy(t, file, empty))
	if empty.UID != "" {
		t.Errorf("applying nothing to the Secret returned its UID %q", empty.UID)
	}
	wrong := credential.Binding{Name: bound.Name, UID: "0f1c2d3e-0000-4000-8000-000000000001"}
	if err := mintedBy(t, file, "member-c1", boundTo(wrong)); !apierrors.IsConflict(err) || strings.Contains(err.Error(), bound.UID) {
		t.Errorf("requesting a token for a wrong UID: %v", err)
	}
	of := claimsOf(t, member.Token).Binding
	long := boundTo(bound)
	long.ExpirationSeconds = ptr.To(int64(rights.MaxTokenLifetime/time.Second) + 1)
	asPod := boundTo(bound)
	asPod.BoundObjectRef.Kind = "Pod"
	secrets := kubeAs(t, file).CoreV1().Secrets(place)
	for what, err := range map[string]error{
		"a join file: an unbound token":             mintedBy(t, file, "member-c1", authenticationv1.TokenRequestSpec{}),
		"a join file: a token without the UID":      mintedBy(t, file, "member-c1", boundTo(credential.Binding{Name: bound.Name})),
		"a join file: bound to another's Secret":    mintedBy(t, file, "member-c1", boundTo(of)),
		"a join file: bound to a Pod":               mintedBy(t, file, "member-c1", asPod),
		"a join file: a long life":                  mintedBy(t, file, "member-c1", long),
		"a join file: its own account's token":      mintedBy(t, file, "join-c1", boundTo(bound)),
		"a join file: another member's":             mintedBy(t, file, "member-c2", boundTo(bound)),
		"another file: bound to c1's Secret":        mintedBy(t, confusable, "member-c1-x", boundTo(bound)),
		"a join file: reading the Secret":           errorOf(secrets.Get(t.Context(), bound.Name, metav1.GetOptions{})),
		"a join file: listing Secrets":              errorOf(secrets.List(t.Context(), metav1.ListOptions{})),
		"a join file: deleting the Secret":          secrets.Delete(t.Context(), bound.Name, metav1.DeleteOptions{}),
		"a join file: changing the Secret":          errorOf(secrets.Update(t.Context(), good(), metav1.UpdateOptions{})),
		"a join file: deleting its account":         kubeAs(t, file).CoreV1().ServiceAccounts(place).Delete(t.Context(), "join-c1", metav1.DeleteOptions{}),
		"a join file: another member's account":     errorOf(kubeAs(t, file).CoreV1().ServiceAccounts(place).Get(t.Context(), "member-c2", metav1.GetOptions{})),
		"a join file: a Secret elsewhere":           errorOf(kubeAs(t, file).CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: bound.Name}}, metav1.CreateOptions{})),
		"a join file: the records":                  asMember(t, file).List(t.Context(), &brokerv1alpha1.ExportedServiceList{}, client.InNamespace(place)),
		"a join file: a Lease":                      asMember(t, file).Create(t.Context(), objects.Lease("c1")),
		"a member: an unbound token":                mintedBy(t, member, "member-c2", authenticationv1.TokenRequestSpec{}),
		"a member: a token without the UID":         mintedBy(t, member, "member-c2", boundTo(credential.Binding{Name: of.Name})),
		"a member: bound to another's Secret":       mintedBy(t, member, "member-c2", boundTo(bound)),
		"a member: another's":                       mintedBy(t, member, "member-c1", boundTo(bound)),
		"a member: another join file":               mintedBy(t, member, "join-c1", boundTo(of)),
		"a member: its own join file":               mintedBy(t, member, "join-c2", boundTo(of)),
		"a member: the default account":             mintedBy(t, member, "default", boundTo(of)),
		"a member: deleting its Secret":             kubeAs(t, member).CoreV1().Secrets(place).Delete(t.Context(), of.Name, metav1.DeleteOptions{}),
		"a member: another Secret":                  appliedBy(t, member, rights.NewCredential(place, "c2", "0f1c2d3e-0000-4000-8000-000000000001", account.UID)),
		"a member: deleting another's account":      asMember(t, member).Delete(t.Context(), rights.Member(place, "c1").ServiceAccount),
		"a member: deleting another's join account": asMember(t, member).Delete(t.Context(), rights.Joiner(place, "c1").ServiceAccount),
		"a member: more rights":                     asMember(t, member).Create(t.Context(), rights.Member(place, "c3").ServiceAccount),
	} {
		expectForbidden(t, what, err)
	}
	for what, patch := range map[string]string{"the owners": `{"metadata":{"ownerReferences":null}}`, "a label": `{"metadata":{"labels":{"a":"b"}}}`, "nothing": `{}`} {
		secret, err := secrets.Patch(t.Context(), bound.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		expectRefused(t, "a join file: changing "+what+" of the Secret", err)
		if secret != nil && secret.UID != "" {
			t.Errorf("changing %s of the Secret returned its UID", what)
		}
	}
	wrong.Name = of.Name
	if err := mintedBy(t, member, "member-c2", boundTo(wrong)); !apierrors.IsConflict(err) {
		t.Errorf("member requesting a token for a wrong UID: %v", err)
	}
	wrong.Name = names.MemberCredential("c2", wrong.UID)
	if err := mintedBy(t, member, "member-c2", boundTo(wrong)); !apierrors.IsNotFound(err) {
		t.Errorf("member requesting a token for a missing Secret: %v", err)
	}
	for what, err := range map[string]error{
		"a join file: the member's": mintedBy(t, file, "member-c1", boundTo(bound)),
		"a member: its own":         mintedBy(t, member, "member-c2", boundTo(of)),
	} {
		planes.Succeeds(t, what, err)
	}
	must(t, "", "leave --yes --context c2")
}

func errorOf[T any](_ T, err error) error { return err }

// minted uses a join file without the atoll command and returns the membership.
func minted(t *testing.T, file credential.Membership) credential.Membership {
	t.Helper()
	bound, err := joining.Use(t.Context(), kubeAs(t, file), file)
	noError(t, err)
	token, err := joining.Token(t.Context(), kubeAs(t, file), file, bound, time.Hour)
	noError(t, err)
	file.Token = token.Token
	return file
}

// If a thief uses a join file first, the owner's join is refused with instructions, whatever
// the thief does to hide the theft. The instructions lock the thief out.
func TestStolenJoinFile(t *testing.T) {
	deployBroker(t)
	text := joinFile(t, "c1")
	file := parsed(t, text)
	thief := minted(t, file)
	refused(t, text, "join - --no-workloads --context c1", "the join file for cluster c1 was used already, but this cluster has no record of using it",
		"another cluster has joined as c1", "atoll broker members remove c1 --clusterset atoll-clusterset --force --context CONTEXT_OF_BROKER",
		"atoll broker token create c1 --clusterset atoll-clusterset --output c1.join --context CONTEXT_OF_BROKER")
	said := &planes.Log{To: t.Output()}
	must(t, text, "join - --no-workloads --offline --context c1")
	stop := startAgent(t, asAgent(t, "c1"), said)
	said.Expect(t, "no replica of this agent has stored a token from the join file")
	stop()
	must(t, "", "leave --yes --offline --context c1")

	// The thief cannot hide the use of the file without making the file invalid.
	asThief := kubeAs(t, thief).CoreV1()
	expectForbidden(t, "deleting the Secret", asThief.Secrets(place).Delete(t.Context(), claimsOf(t, thief.Token).Binding.Name, metav1.DeleteOptions{}))
	noError(t, asThief.ServiceAccounts(place).Delete(t.Context(), "join-c1", metav1.DeleteOptions{}))
	refused(t, text, "join - --no-workloads --context c1", "the join file was already used, was revoked, or was replaced by a newer join file")

	must(t, "", "broker members remove c1 --yes --context broker --force")
	must(t, joinFile(t, "c1"), "join - --no-workloads --context c1")
	eventually(t, "the thief's token is not accepted", func() error { return unauthorized(accepted(t, thief)) })
	m, _ := membershipOf(t, "c1")
	planes.Succeeds(t, "the member's token", accepted(t, m))
	must(t, "", "leave --yes --context c1")
}

// registered waits until a member's agent has registered the member.
func registered(t *testing.T, id string) {
	t.Helper()
	planes.Until(t, id+" is registered", on[lab.Broker], objects.Member(id), func() error { return nil })
}

func unauthorized(err error) error {
	if apierrors.IsUnauthorized(err) {
		return nil
	}
	return fmt.Errorf("the answer is %v", err)
}

// listed returns the lines of `atoll broker token list` about a cluster, without its id and the
// times.
func listed(t *testing.T, id string) []string {
	t.Helper()
	var states []string
	for _, line := range strings.Split(must(t, "", "broker token list --context broker"), "\n")[1:] {
		if fields := strings.Fields(line); len(fields) == 4 && fields[0] == id {
			states = append(states, fields[1])
		}
	}
	return states
}

func expectListedTokens(t *testing.T, id string, want ...string) {
	t.Helper()
	if have := listed(t, id); !slices.Equal(have, want) {
		t.Errorf("the join files of %s are %q, not %q", id, have, want)
	}
}

// A join file can be revoked, and a new file replaces it. The existing member keeps its
// credentials until a cluster has joined with the new file; then the old credentials stop
// working.
func TestJoinFilesFollowEachOther(t *testing.T) {
	deployBroker(t)
	first := joinFile(t, "c1")
	expectListedTokens(t, "c1", "unused")
	says(t, "", "broker token revoke c1 --context broker", "the join file of cluster c1 is revoked. Its state was unused")
	expectListedTokens(t, "c1")
	refused(t, first, "join - --no-workloads --context c1", "does not accept the token: the join file was already used, was revoked, or was replaced by a newer join file",
		"atoll broker token create c1 --clusterset atoll-clusterset --output c1.join --context CONTEXT_OF_BROKER")
	first = joinFile(t, "c1")
	second := joinFile(t, "c1")
	refused(t, first, "join - --no-workloads --context c1", "the join file was already used, was revoked, or was replaced by a newer join file")
	must(t, second, "join - --no-workloads --context c1")
	expectListedTokens(t, "c1", "used")
	says(t, "", "broker token revoke c1 --context broker", "no usable join file for cluster c1 exists", "atoll broker members remove c1 --clusterset atoll-clusterset --force --context broker")
	before, _ := membershipOf(t, "c1")

	// A new file does not affect the member. Nor does its revocation.
	joinFile(t, "c1")
	expectListedTokens(t, "c1", "unused", "used")
	account := &corev1.ServiceAccount{ObjectMeta: onBroker("join-c1")}
	planes.Change(t, on[lab.Broker], account, func(a *corev1.ServiceAccount) {
		metav1.SetMetaDataAnnotation(&a.ObjectMeta, names.AnnotationExpires, time.Now().Add(-time.Minute).UTC().Format(time.RFC3339))
	})
	expectListedTokens(t, "c1", "expired", "used")
	must(t, "", "broker token revoke c1 --context broker")
	expectGone(t, lab.Broker, &rbacv1.Role{ObjectMeta: onBroker("join-c1")}) // the garbage collector has been there
	planes.Succeeds(t, "after a file was revoked, the member's token", accepted(t, before))

	// Join again with the used file, with an older file, and with a new file.
	must(t, second, "join - --no-workloads --context c1")
	must(t, second, "join - --no-workloads --offline --context c1")
	if m, _ := membershipOf(t, "c1"); m.Token != before.Token {
		t.Error("joining with the used file has changed the token")
	}
	refused(t, first, "join - --no-workloads --context c1", "the join file was already used, was revoked, or was replaced by a newer join file")
	third := joinFile(t, "c1")
	planes.Succeeds(t, "before the new file is used, the member's token", accepted(t, before))
	must(t, third, "join - --no-workloads --context c1")
	after, _ := membershipOf(t, "c1")
	expectGone(t, lab.Broker, &corev1.Secret{ObjectMeta: onBroker(claimsOf(t, before.Token).Binding.Name)})
	eventually(t, "the former token is not accepted", func() error { return unauthorized(accepted(t, before)) })
	planes.Succeeds(t, "the new token", accepted(t, after))
	owned := &corev1.Secret{ObjectMeta: onBroker(claimsOf(t, after.Token).Binding.Name)}
	planes.Until(t, "the credentials go with the member's account", on[lab.Broker], owned, func() error {
		if o := owned.OwnerReferences; len(o) != 1 || o[0].Name != "member-c1" {
			return fmt.Errorf("the owners are %v", o)
		}
		return nil
	})
	expectListedTokens(t, "c1", "used")
	must(t, "", "leave --yes --context c1")
	expectGone(t, lab.Broker, owned)
	expectListedTokens(t, "c1")
}

// If a join file is used in the wrong cluster, the agent there detects that the id belongs to
// another cluster. The other cluster is not affected.
func TestWrongClustersJoinFile(t *testing.T) {
	joined(t, "c1", "--no-workloads")
	startAgent(t, asAgent(t, "c1"), t.Output())
	registered(t, "c1")
	owner, _ := membershipOf(t, "c1")
	refused(t, "", "broker token create c1 --context broker --server "+server(t), "cluster c1 is a member and seems to be alive", "atoll broker token create c1 --clusterset atoll-clusterset --replace")
	file := joinFile(t, "c1", "--replace")
	if life := time.Until(claimsOf(t, parsed(t, file).Token).Expires); life < 50*time.Minute || life > time.Hour {
		t.Errorf("with --replace, the file is valid for %v", life)
	}
	must(t, file, "join - --no-workloads --offline --context c2")
	said := &planes.Log{To: t.Output()}
	stopWrong := startAgent(t, asAgent(t, "c2"), said)
	said.Expect(t, "belongs to another cluster")
	expectListedTokens(t, "c1", "used", "used")
	planes.Read(t, on[lab.Broker], &corev1.ServiceAccount{ObjectMeta: onBroker("join-c1")}) // without the account the join would count as complete
	planes.Succeeds(t, "the owner's token", accepted(t, owner))
	stopWrong()
	must(t, "", "leave --yes --offline --context c2")
}

// Without a connection to the broker, join leaves the use of the join file to the agent. All
// replicas of the agent try to use it.
func TestOfflineJoin(t *testing.T) {
	deployBroker(t)
	file := joinFile(t, "c1")
	unreachable := strings.Replace(file, server(t), "https://127.0.0.1:1", 1)
	must(t, unreachable, "join - --no-workloads --offline --context c1")
	must(t, file, "join - --no-workloads --offline --context c1") // with the correct address
	local := asAgent(t, "c1")
	stop, stopSecond := startAgent(t, local, t.Output()), startAgent(t, local, t.Output())
	eventually(t, "the agent has its own token", func() error {
		m, _ := membershipOf(t, "c1")
		if claimsOf(t, m.Token).IsJoiner(m.ClusterID, m.Clusterset) {
			return errors.New("the token is still the join file's")
		}
		return nil
	})
	expectGone(t, lab.Broker, &corev1.ServiceAccount{ObjectMeta: onBroker("join-c1")})
	registered(t, "c1")
	stop()
	stopSecond()
	must(t, "", "leave --yes --context c1")
}

// If an agent ended before it deleted the join file's permissions, the next agent deletes them.
func TestJoinIsEndedLater(t *testing.T) {
	deployBroker(t)
	file := joinFile(t, "c1")
	must(t, file, "join - --no-workloads --offline --context c1")
	m, secret := membershipOf(t, "c1")
	setToken(t, "c1", secret, minted(t, m).Token)
	stop := startAgent(t, asAgent(t, "c1"), t.Output())
	expectGone(t, lab.Broker, &corev1.ServiceAccount{ObjectMeta: onBroker("join-c1")})
	stop()

	// The agent does not delete the permissions of a later file.
	joinFile(t, "c1", "--replace")
	expectListedTokens(t, "c1", "unused", "used")
	create(t, "c1", namespace("later"), service("later", "web"), export("later", "web"))
	stop = startAgent(t, asAgent(t, "c1"), t.Output())
	expectImport(t, "c1", "later", "web", "c1")
	stop()
	expectListedTokens(t, "c1", "unused", "used")
	planes.Delete(t, on["c1"], export("later", "web")) // the definition stays as long as there are any
	must(t, "", "leave --yes --context c1")
}

// Only its owner can read the file, whatever the umask. The command does not overwrite another
// file.
func TestJoinFileIsPrivate(t *testing.T) {
	deployBroker(t)
	removedAfterwards(t, "c1")
	path := filepath.Join(t.TempDir(), "c1.join")
	line := fmt.Sprintf("broker token create c1 --context broker --server %s --output %s", server(t), path)
	for _, umask := range []int{0, 0o777} {
		old := syscall.Umask(umask)
		r := atoll("", line+" --ttl 2h")
		syscall.Umask(old)
		if info, err := os.Stat(path); r.Status != 0 || err != nil || info.Mode() != 0o600 {
			t.Fatalf("umask %o: %v, %v, status %d\n%s", umask, info, err, r.Status, r.Stderr)
		}
		if r.Stdout != "" || !strings.Contains(r.Stderr, "the join file works once, until ") || !strings.Contains(r.Stderr, "atoll join "+path) {
			t.Errorf("umask %o: output:\n%s%s", umask, r.Stdout, r.Stderr)
		}
		refused(t, "", line, "already exists", "--force")
		if umask == 0 {
			noError(t, os.Remove(path))
		}
	}
	text, err := os.ReadFile(path)
	noError(t, err)
	if life := time.Until(claimsOf(t, parsed(t, string(text)).Token).Expires); life < 110*time.Minute || life > 2*time.Hour {
		t.Errorf("the file is valid for %v, want 2h", life)
	}
	noError(t, os.Chmod(path, 0o644))
	says(t, "", "join "+path+" --dry-run --context c1", "warning: other users of this machine can read "+path+" (mode 0644)")
	must(t, "", line+" --force")
	again, err := os.ReadFile(path)
	if info, _ := os.Stat(path); err != nil || info.Mode() != 0o600 || string(again) == string(text) {
		t.Errorf("with --force: %v, %v", info, err)
	}
	if life := time.Until(claimsOf(t, parsed(t, string(again)).Token).Expires); life < 23*time.Hour || life > 24*time.Hour {
		t.Errorf("by default a file is valid for %v, want 24h", life)
	}
	for _, ttl := range []string{"5m", "169h"} {
		refused(t, "", line+"x --ttl "+ttl, "the lifetime of a join file must be from 10m0s to 168h0m0s")
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("there are %v, %v", left, err)
	}
}
