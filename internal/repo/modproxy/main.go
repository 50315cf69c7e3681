// Modproxy writes the modules of a workspace as a module proxy would serve
// them, so that a consumer can be built from the working tree without any
// replace:
//
//	go run ./internal/repo/modproxy -version v0.1.0 -out DIR
//	GOPROXY=file://DIR,... GONOSUMDB=github.com/speccache/* go get ...
//
// It prints the modules' paths.
package main

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	version := flag.String("version", "v0.1.0", "version of all modules")
	out := flag.String("out", "", "folder to write to")
	flag.Parse()
	if err := run(*version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "modproxy:", err)
		os.Exit(1)
	}
}

func run(version, out string) error {
	if out == "" {
		return errors.New("-out is empty")
	}
	list, err := exec.Command("go", "list", "-m", "-json").Output()
	if err != nil {
		return fmt.Errorf("go list -m: %w", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(list))); ; {
		var m module
		switch err := d.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := m.pack(version, filepath.Join(out, filepath.FromSlash(m.Path), "@v")); err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		fmt.Println(m.Path)
	}
}

type module struct{ Path, Dir string }

// pack writes the files of the proxy protocol. Paths with capitals would need
// escaping; ours have none.
func (m module) pack(version, to string) error {
	if m.Path != strings.ToLower(m.Path) {
		return errors.New("paths with capitals are not supported")
	}
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(m.Dir, "go.mod"))
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Now().UTC()})
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(to, "list"), []byte(version+"\n"), 0o666),
		os.WriteFile(filepath.Join(to, version+".info"), info, 0o666),
		os.WriteFile(filepath.Join(to, version+".mod"), mod, 0o666),
		m.zip(filepath.Join(to, version+".zip"), m.Path+"@"+version+"/"),
	)
}

// zip packs what belongs to the module: what is below its folder, except other
// modules and names that begin with a dot.
func (m module) zip(file, prefix string) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := zip.NewWriter(f)
	defer func() { err = errors.Join(err, w.Close()) }()
	return filepath.WalkDir(m.Dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return m.enter(name, d)
		case !d.Type().IsRegular(), strings.HasPrefix(d.Name(), "."):
			return nil
		}
		rel, err := filepath.Rel(m.Dir, name)
		if err != nil {
			return err
		}
		return add(w, prefix+filepath.ToSlash(rel), name)
	})
}

// enter returns fs.SkipDir for folders that are no part of the module.
func (m module) enter(name string, d fs.DirEntry) error {
	if name == m.Dir {
		return nil
	}
	if strings.HasPrefix(d.Name(), ".") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func add(w *zip.Writer, as, name string) error {
	r, err := os.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	entry, err := w.Create(as)
	if err != nil {
		return err
	}
	_, err = io.Copy(entry, r)
	return err
}
