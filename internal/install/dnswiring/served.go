package dnswiring

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// corefileDir is the directory of the Corefile in the pods of CoreDNS. Relative imports start there.
const corefileDir = "/etc/coredns"

// Mount is a directory in the pods of CoreDNS with the keys of a ConfigMap as files.
type Mount struct {
	Dir string
	// Name is the ConfigMap's, and ConfigMap is nil if it does not exist.
	Name      string
	ConfigMap *corev1.ConfigMap
	// Items are the keys of the mounted files, by the files' paths in Dir. Nil means that all keys are mounted under
	// their names.
	Items map[string]string
	// SubPath means that the files are mounted with subPath, so running pods do not see changes.
	SubPath bool
}

// files returns the keys of the ConfigMap that are files in a directory, by the names of the files.
func (m Mount) files(cm *corev1.ConfigMap, dir string) map[string]keyRef {
	all := contents(cm)
	items := m.Items
	if items == nil {
		items = map[string]string{}
		for key := range all {
			items[key] = key
		}
	}
	files := map[string]keyRef{}
	for file, key := range items {
		file = path.Join(m.Dir, file)
		if _, found := all[key]; found && path.Dir(file) == dir {
			files[path.Base(file)] = keyRef{cm, key}
		}
	}
	return files
}

// keyRef is a key of a ConfigMap.
type keyRef struct {
	configMap *corev1.ConfigMap
	key       string
}

func (r keyRef) text() string { return contents(r.configMap)[r.key] }

// contents returns all keys of a ConfigMap. A file that is not UTF-8 is in binaryData, and CoreDNS reads it like the
// others.
func contents(cm *corev1.ConfigMap) map[string]string {
	all := make(map[string]string, len(cm.Data)+len(cm.BinaryData))
	maps.Copy(all, cm.Data)
	for key, data := range cm.BinaryData {
		all[key] = string(data)
	}
	return all
}

// source is a Corefile in a ConfigMap, and what the Corefile imports.
type source struct {
	configMap *corev1.ConfigMap
	key       string
	path      string
	custom    *corev1.ConfigMap
	mounts    []Mount
	// ports are the ports at which the server receives the pods' queries, if known.
	ports []string
	// defaultPort is the port of keys without one, if it is not 53.
	defaultPort string
	image       string
}

func (c Cluster) coreDNS() source {
	return source{configMap: c.CoreDNS, key: c.corefileKey(), path: c.Path, custom: c.Custom, mounts: c.Mounts, ports: c.Ports, defaultPort: c.DefaultPort, image: c.Image}
}

// nodeLocal returns the Corefiles of NodeLocal DNSCache. Some distributions have one for each of two DaemonSets.
func (c Cluster) nodeLocal() (all []source) {
	if c.NodeLocal == nil {
		return nil
	}
	keys := c.NodeLocalKeys
	if len(keys) == 0 {
		for _, key := range slices.Sorted(maps.Keys(c.NodeLocal.Data)) {
			if strings.HasPrefix(key, keyCorefile) {
				keys = append(keys, key)
			}
		}
	}
	for _, key := range keys {
		all = append(all, source{configMap: c.NodeLocal, key: key, mounts: []Mount{}})
	}
	return all
}

func (s source) main() string { return cmp.Or(s.path, corefileDir+"/"+keyCorefile) }

// assemble returns the Corefile as the DNS server reads it.
func (s source) assemble() (corefile.File, error) {
	file, err := corefile.Assemble(corefile.Source{Name: s.main(), Text: keyRef{s.configMap, s.key}.text()}, s.read)
	return file.WithDefaultPort(s.defaultPort), s.located(err)
}

// InvalidError means that CoreDNS does not start with its configuration.
type InvalidError struct{ Err error }

func (e *InvalidError) Error() string {
	return fmt.Sprintf("CoreDNS does not start with this configuration: %v", e.Err)
}

func (e *InvalidError) Unwrap() error { return e.Err }

// validate returns an error if CoreDNS would not start with the file.
func (s source) validate(file corefile.File) error {
	if err := file.Validate(); err != nil {
		return &InvalidError{s.located(err)}
	}
	return nil
}

// read returns the imported files that match a pattern, or false if Atoll does not know the directory.
func (s source) read(pattern string) ([]corefile.Source, bool) {
	dir, base := path.Split(pattern)
	dir = path.Clean(dir)
	files, known := s.directory(dir)
	var found []corefile.Source
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if ok, err := path.Match(base, name); err == nil && ok {
			found = append(found, corefile.Source{Name: path.Join(dir, name), Text: files[name].text()})
		}
	}
	wildcard := strings.ContainsAny(base, "*?")
	return found, known || len(found) > 0 || s.custom == nil && wildcard && s.isCustom(dir)
}

// directory returns the keys that are files of a directory, by the names of the files. They are known if the pods of
// CoreDNS mount them there, or if all distributions do.
func (s source) directory(dir string) (files map[string]keyRef, known bool) {
	files = map[string]keyRef{}
	for _, m := range s.mounts {
		cm := m.ConfigMap
		switch {
		case s.custom != nil && m.Name == s.custom.Name:
			cm = s.custom
		case m.Name == s.configMap.Name:
			cm = s.configMap
		}
		if known = known || m.Dir == dir; cm != nil {
			maps.Copy(files, m.files(cm, dir)) // the kubelet lets the last source of a volume win, too
		}
	}
	switch {
	case known || len(files) > 0:
		return files, true
	case s.isCustom(dir) && s.custom != nil:
		return Mount{Dir: dir}.files(s.custom, dir), true
	case dir == path.Dir(s.main()):
		return Mount{Dir: dir}.files(s.configMap, dir), false
	}
	return nil, false
}

// isCustom reports whether a directory has the keys of coredns-custom.
func (s source) isCustom(dir string) bool {
	if s.mounts == nil {
		return path.Base(dir) == "custom"
	}
	return slices.ContainsFunc(s.mounts, func(m Mount) bool { return m.Dir == dir && m.Name == customObject })
}

// object returns the ConfigMap and the key of an assembled file.
func (s source) object(file string) (cm *corev1.ConfigMap, key string) {
	if file != s.main() {
		files, _ := s.directory(path.Dir(file))
		if ref, found := files[path.Base(file)]; found {
			return ref.configMap, ref.key
		}
	}
	return s.configMap, s.key
}

// located adds the place of a mistake to an error.
func (s source) located(err error) error {
	var mistake *corefile.SyntaxError
	if !errors.As(err, &mistake) {
		return err
	}
	cm, key := s.object(mistake.File)
	if key == keyCorefile {
		return in(cm, err)
	}
	return in(cm, fmt.Errorf("key %s: %w", key, err))
}

// keyNote names the key of a file in a message, unless the file is the Corefile itself.
func (s source) keyNote(file string) string {
	if _, key := s.object(file); key != keyCorefile {
		return " of the key " + key
	}
	return ""
}

// customSuffix returns the suffix of keys in coredns-custom that the Corefile imports as server blocks, and the directory
// of the import; the suffix is empty if there is no such import.
func (s source) customSuffix(file corefile.File) (suffix, dir string) {
	for _, pattern := range file.Imports {
		dir, base := path.Split(pattern)
		dir = path.Clean(dir)
		if suffix, ok := strings.CutPrefix(base, "*"); ok && suffix != "" && s.isCustom(dir) {
			return suffix, dir
		}
	}
	return "", ""
}

// mountsKey reports whether a key of coredns-custom is a file of a directory.
func (s source) mountsKey(dir, key string) bool {
	if s.mounts == nil {
		return true
	}
	return slices.ContainsFunc(s.mounts, func(m Mount) bool {
		return m.Dir == dir && m.Name == customObject && (m.Items == nil || slices.Contains(slices.Collect(maps.Values(m.Items)), key))
	})
}
