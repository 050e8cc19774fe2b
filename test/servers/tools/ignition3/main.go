// The judge of Ignition 3.x configs, many a process: starting ignition-validate once a config costs more than the validation itself.
//
// Input: frames of a decimal length, a newline and that many bytes. Output: one line of JSON a frame, in order.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/coreos/ignition/v2/config"
)

type entry struct {
	Kind    string `json:"kind"`
	Path    string `json:"path"`
	Message string `json:"message"`
	Line    int64  `json:"line"`
	Column  int64  `json:"column"`
}

type verdict struct {
	Error   string  `json:"error"`
	Entries []entry `json:"entries"`
}

// What `ignition-validate` prints, as data: its main function calls config.Parse and nothing else.
func judge(raw []byte) verdict {
	_, report, err := config.Parse(raw)
	result := verdict{Entries: []entry{}}
	if err != nil {
		result.Error = err.Error()
	}
	for _, e := range report.Entries {
		line, column := e.Marker.Start()
		result.Entries = append(result.Entries, entry{fmt.Sprint(e.Kind), e.Context.String(), e.Message, line, column})
	}
	return result
}

func main() {
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	debug.SetGCPercent(1000) // short-lived and small: time matters, memory does not
	for {
		var length int
		if _, err := fmt.Fscanf(in, "%d\n", &length); err == io.EOF {
			return
		} else if err != nil {
			fmt.Fprintln(os.Stderr, "judge: a frame does not start with its length:", err)
			os.Exit(1)
		}
		raw := make([]byte, length)
		if _, err := io.ReadFull(in, raw); err != nil {
			fmt.Fprintln(os.Stderr, "judge: a frame is cut:", err)
			os.Exit(1)
		}
		if err := encoder.Encode(judge(raw)); err != nil {
			fmt.Fprintln(os.Stderr, "judge:", err)
			os.Exit(1)
		}
	}
}
