package volume

import (
	"fmt"
	"io/fs"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/lab/podrunner/internal/podspec"
)

// Sources are what the files of volumes are made of.
type Sources struct {
	Pod     *corev1.Pod
	Place   podspec.Place
	Objects podspec.Objects
	// Token returns a token for the Pod's service account.
	Token func(*corev1.ServiceAccountTokenProjection) (string, error)
}

// IsMade tells whether a volume's files are made by Files.
func IsMade(v *corev1.Volume) bool {
	return v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil
}

// Files returns what a volume holds. The error says which part is missing.
func (s Sources) Files(v *corev1.Volume) (map[string]File, error) {
	files := map[string]File{}
	var err error
	switch {
	case v.ConfigMap != nil:
		err = s.configMap(files, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional, mode(v.ConfigMap.DefaultMode))
	case v.Secret != nil:
		err = s.secret(files, v.Secret.SecretName, v.Secret.Items, v.Secret.Optional, mode(v.Secret.DefaultMode))
	case v.DownwardAPI != nil:
		err = s.downward(files, v.DownwardAPI.Items, mode(v.DownwardAPI.DefaultMode))
	case v.Projected != nil:
		err = s.projected(files, v.Projected)
	}
	return files, err
}

func mode(m *int32) fs.FileMode {
	if m == nil {
		return 0o644
	}
	return fs.FileMode(*m)
}

func (s Sources) projected(files map[string]File, v *corev1.ProjectedVolumeSource) error {
	byDefault := mode(v.DefaultMode)
	for _, source := range v.Sources {
		var err error
		switch {
		case source.ConfigMap != nil:
			err = s.configMap(files, source.ConfigMap.Name, source.ConfigMap.Items, source.ConfigMap.Optional, byDefault)
		case source.Secret != nil:
			err = s.secret(files, source.Secret.Name, source.Secret.Items, source.Secret.Optional, byDefault)
		case source.DownwardAPI != nil:
			err = s.downward(files, source.DownwardAPI.Items, byDefault)
		case source.ServiceAccountToken != nil:
			var token string
			token, err = s.Token(source.ServiceAccountToken)
			files[source.ServiceAccountToken.Path] = File{[]byte(token), byDefault}
		default:
			err = fmt.Errorf("unsupported source of a projected volume")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s Sources) configMap(files map[string]File, name string, items []corev1.KeyToPath, optional *bool, byDefault fs.FileMode) error {
	object := s.Objects.ConfigMap(name)
	if object == nil {
		return missing(optional, "configmap %q not found", name)
	}
	data := map[string][]byte{}
	for k, v := range object.Data {
		data[k] = []byte(v)
	}
	for k, v := range object.BinaryData {
		data[k] = v
	}
	return pick(files, data, items, optional, byDefault, "configmap "+name)
}

func (s Sources) secret(files map[string]File, name string, items []corev1.KeyToPath, optional *bool, byDefault fs.FileMode) error {
	object := s.Objects.Secret(name)
	if object == nil {
		return missing(optional, "secret %q not found", name)
	}
	return pick(files, object.Data, items, optional, byDefault, "secret "+name)
}

// pick takes the items of data, or all of it where there are none.
func pick(files map[string]File, data map[string][]byte, items []corev1.KeyToPath, optional *bool, byDefault fs.FileMode, what string) error {
	if len(items) == 0 {
		for key, value := range data {
			files[key] = File{value, byDefault}
		}
		return nil
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok {
			if err := missing(optional, "%s references non-existent config key: %s", what, item.Key); err != nil {
				return err
			}
			continue
		}
		file := File{value, byDefault}
		if item.Mode != nil {
			file.Mode = mode(item.Mode)
		}
		files[item.Path] = file
	}
	return nil
}

func (s Sources) downward(files map[string]File, items []corev1.DownwardAPIVolumeFile, byDefault fs.FileMode) error {
	for _, item := range items {
		var value string
		var err error
		switch {
		case item.FieldRef != nil:
			value, err = podspec.Field(s.Pod, s.Place, item.FieldRef.FieldPath)
		case item.ResourceFieldRef != nil:
			value, err = podspec.Resource(s.Pod, "", s.Place, item.ResourceFieldRef)
		}
		if err != nil {
			return err
		}
		file := File{[]byte(value), byDefault}
		if item.Mode != nil {
			file.Mode = mode(item.Mode)
		}
		files[item.Path] = file
	}
	return nil
}

func missing(optional *bool, format string, args ...any) error {
	if optional != nil && *optional {
		return nil
	}
	return fmt.Errorf(format, args...)
}
