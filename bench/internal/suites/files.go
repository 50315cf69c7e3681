package suites

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// maxLine is how long a line of a file may be.
const maxLine = 1 << 24

// readJSON reads a file that is one JSON value.
func readJSON(path string, value any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, value); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readLines calls do for each line of a file. An error of its own names the line.
func readLines(path string, do func(n int, line []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if err := do(n, lines.Bytes()); err != nil {
			return fmt.Errorf("%s: line %d: %w", path, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// glob returns the files of a folder by name. A folder that is not there has
// none, which is an error later on.
func glob(path ...string) []string {
	files, _ := filepath.Glob(filepath.Join(path...))
	return files
}
