package podrunner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/lab/podrunner/internal/volume"
)

// volumes are those of a worker's Pod.
type volumes struct {
	worker  *worker
	written map[string]map[string]volume.File // what the made ones hold
	made    map[string]bool                   // the others that exist
	tokens  map[tokenKey]token
}

type tokenKey struct {
	audience string
	seconds  int64
}

type token struct {
	text    string
	renewAt time.Time
}

func newVolumes(w *worker) *volumes {
	return &volumes{
		worker: w, written: map[string]map[string]volume.File{}, made: map[string]bool{}, tokens: map[tokenKey]token{},
	}
}

// update makes the Pod's volumes and brings their files up to date. It returns
// when to call it again even if no object changes; zero means never.
func (v *volumes) update(ctx context.Context) (time.Time, error) {
	w := v.worker
	sources := volume.Sources{
		Pod: w.pod, Place: w.place(), Objects: w.runner.objects.in(w.namespace),
		Token: func(p *corev1.ServiceAccountTokenProjection) (string, error) { return v.token(ctx, p) },
	}
	for i := range w.pod.Spec.Volumes {
		vol := &w.pod.Spec.Volumes[i]
		if !volume.IsMade(vol) {
			if err := v.make(vol); err != nil {
				return time.Time{}, fmt.Errorf("volume %q: %w", vol.Name, err)
			}
			continue
		}
		files, err := sources.Files(vol)
		if err != nil {
			return time.Time{}, fmt.Errorf("volume %q: %w", vol.Name, err)
		}
		if have, ok := v.written[vol.Name]; ok && volume.Equal(have, files) {
			continue
		}
		if err := volume.Write(v.dir(vol.Name), files); err != nil {
			return time.Time{}, fmt.Errorf("volume %q: %w", vol.Name, err)
		}
		v.written[vol.Name] = files
	}
	var next time.Time
	for _, t := range v.tokens {
		next = earliest(next, t.renewAt)
	}
	return next, nil
}

func (v *volumes) dir(name string) string { return filepath.Join(v.worker.dir, "volumes", name) }

// make makes a volume that is just a folder.
func (v *volumes) make(vol *corev1.Volume) error {
	if v.made[vol.Name] {
		return nil
	}
	switch {
	case vol.EmptyDir != nil:
		if err := v.makeEmpty(vol); err != nil {
			return err
		}
	case vol.HostPath != nil:
		if err := makeHostPath(vol.HostPath); err != nil {
			return err
		}
	default:
		return errors.New("the lab knows no volumes of this type: use configMap, secret, emptyDir, projected, downwardAPI or hostPath")
	}
	v.made[vol.Name] = true
	return nil
}

func (v *volumes) makeEmpty(vol *corev1.Volume) error {
	dir := v.dir(vol.Name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if vol.EmptyDir.Medium == corev1.StorageMediumMemory {
		options := "mode=0777"
		if limit := vol.EmptyDir.SizeLimit; limit != nil && !limit.IsZero() {
			options += fmt.Sprintf(",size=%d", limit.Value())
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
			return fmt.Errorf("mounting memory: %w", err)
		}
	}
	mode := fs.FileMode(0o777)
	if group := fsGroup(v.worker.pod); group != nil {
		mode |= fs.ModeSetgid
		if err := os.Chown(dir, -1, int(*group)); err != nil {
			return err
		}
	}
	return os.Chmod(dir, mode) // whatever the umask
}

func makeHostPath(h *corev1.HostPathVolumeSource) error {
	kind := corev1.HostPathUnset
	if h.Type != nil {
		kind = *h.Type
	}
	switch kind {
	case corev1.HostPathDirectoryOrCreate:
		return os.MkdirAll(h.Path, 0o755)
	case corev1.HostPathFileOrCreate:
		f, err := os.OpenFile(h.Path, os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		return f.Close()
	case corev1.HostPathDirectory:
		if info, err := os.Stat(h.Path); err != nil || !info.IsDir() {
			return fmt.Errorf("hostPath %s is not a folder", h.Path)
		}
		return nil
	}
	_, err := os.Stat(h.Path)
	return err
}

// token returns a current token of the Pod's service account. Like the kubelet
// it asks for a new one when a fifth of the old one's life, at most, is left.
func (v *volumes) token(ctx context.Context, p *corev1.ServiceAccountTokenProjection) (string, error) {
	key := tokenKey{audience: p.Audience, seconds: 3600}
	if p.ExpirationSeconds != nil {
		key.seconds = *p.ExpirationSeconds
	}
	have, ok := v.tokens[key]
	if ok && time.Now().Before(have.renewAt) {
		return have.text, nil
	}
	w := v.worker
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &key.seconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: w.name, UID: w.uid},
	}}
	if key.audience != "" {
		request.Spec.Audiences = []string{key.audience}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := w.runner.client.CoreV1().ServiceAccounts(w.namespace).
		CreateToken(ctx, w.pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		if ok { // the old one is still good for a while
			have.renewAt = time.Now().Add(retryTime)
			v.tokens[key] = have
			return have.text, nil
		}
		return "", fmt.Errorf("asking for a token: %w", err)
	}
	life := time.Until(answer.Status.ExpirationTimestamp.Time)
	v.tokens[key] = token{text: answer.Status.Token, renewAt: time.Now().Add(life * 4 / 5)}
	return answer.Status.Token, nil
}
