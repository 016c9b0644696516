package volume

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// read returns what a program sees below dir.
func read(t testing.TB, dir string) map[string]File {
	t.Helper()
	files := map[string]File{}
	var walk func(string)
	walk = func(name string) {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if !info.IsDir() {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = File{data, info.Mode()}
			return
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), "..") {
				walk(filepath.Join(name, e.Name()))
			}
		}
	}
	walk("")
	return files
}

func TestWrite(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		for range 3 {
			files := map[string]File{}
			for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b.txt", "c/d", "c/e/f", "g"}), rapid.ID).Draw(rt, "names") {
				files[name] = File{[]byte(rapid.String().Draw(rt, "data")), rapid.SampledFrom([]fs.FileMode{0o644, 0o400, 0o755}).Draw(rt, "mode")}
			}
			if err := Write(dir, files); err != nil {
				rt.Fatal(err)
			}
			if got := read(t, dir); !Equal(files, got) {
				rt.Fatal(cmp.Diff(files, got))
			}
			hidden, err := filepath.Glob(filepath.Join(dir, "..?*"))
			if err != nil || len(hidden) != 2 { // ..data and the folder that it leads to
				rt.Fatalf("left behind: %v", hidden)
			}
		}
	})
}

// TestWriteChangesAllAtOnce: what is open stays, and a path through ..data leads
// to all old or all new files.
func TestWriteChangesAllAtOnce(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, map[string]File{"x": {[]byte("1"), 0o644}}); err != nil {
		t.Fatal(err)
	}
	before, err := os.Readlink(filepath.Join(dir, "..data"))
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, map[string]File{"x": {[]byte("2"), 0o644}}); err != nil {
		t.Fatal(err)
	}
	after, err := os.Readlink(filepath.Join(dir, "..data"))
	if err != nil || before == after {
		t.Errorf("..data leads to %s, then to %s: %v", before, after, err)
	}
	if err := Write(dir, map[string]File{"../x": {nil, 0o644}}); err == nil {
		t.Error("a file outside the volume was written")
	}
}

type objects struct{}

func (objects) ConfigMap(name string) *corev1.ConfigMap {
	if name != "settings" {
		return nil
	}
	return &corev1.ConfigMap{Data: map[string]string{"a": "1", "b": "2"}, BinaryData: map[string][]byte{"c": {3}}}
}

func (objects) Secret(name string) *corev1.Secret {
	if name != "key" {
		return nil
	}
	return &corev1.Secret{Data: map[string][]byte{"k": []byte("v")}}
}

func TestFiles(t *testing.T) {
	yes, mode := true, int32(0o400)
	settings := corev1.LocalObjectReference{Name: "settings"}
	sources := Sources{
		Pod:     &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}},
		Objects: objects{},
		Token: func(p *corev1.ServiceAccountTokenProjection) (string, error) {
			if p.Audience == "bad" {
				return "", errors.New("no token")
			}
			return "token for " + p.Audience, nil
		},
	}
	text := func(s string, mode fs.FileMode) File { return File{[]byte(s), mode} }
	for name, tc := range map[string]struct {
		source corev1.VolumeSource
		want   map[string]File // nil: an error
	}{
		"configMap": {corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: settings}},
			map[string]File{"a": text("1", 0o644), "b": text("2", 0o644), "c": text("\x03", 0o644)}},
		"items": {corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: settings,
			Items: []corev1.KeyToPath{{Key: "a", Path: "x/y", Mode: &mode}, {Key: "b", Path: "z"}}}},
			map[string]File{"x/y": text("1", 0o400), "z": text("2", 0o644)}},
		"missing item": {corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: settings,
			Items: []corev1.KeyToPath{{Key: "none", Path: "x"}}}}, nil},
		"missing optional item": {corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: settings, Optional: &yes,
			Items: []corev1.KeyToPath{{Key: "none", Path: "x"}}}}, map[string]File{}},
		"missing":          {corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "none"}}, nil},
		"missing optional": {corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "none", Optional: &yes}}, map[string]File{}},
		"secret":           {corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "key", DefaultMode: &mode}}, map[string]File{"k": text("v", 0o400)}},
		"downwardAPI": {corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "name", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}}, map[string]File{"name": text("web", 0o644)}},
		"projected": {corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "x", Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: settings, Items: []corev1.KeyToPath{{Key: "a", Path: "ca"}}}},
			{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "key"}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}}},
		}}}, map[string]File{"token": text("token for x", 0o644), "ca": text("1", 0o644), "k": text("v", 0o644), "namespace": text("shop", 0o644)}},
		"no token": {corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "bad", Path: "token"}}}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := &corev1.Volume{Name: "v", VolumeSource: tc.source}
			got, err := sources.Files(v)
			if tc.want == nil {
				if err == nil {
					t.Errorf("no error, but %v", got)
				}
				return
			}
			if err != nil || !Equal(tc.want, got) || !IsMade(v) {
				t.Errorf("%v: %s", err, cmp.Diff(tc.want, got))
			}
		})
	}
	if IsMade(&corev1.Volume{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}) {
		t.Error("an emptyDir has no files of its own")
	}
}
