// Butane for many configs a process: starting the program once a config costs more than the translation.
//
// Argument: the folder of local files. Input: frames of a decimal length, a newline and that many bytes. Output: one line of JSON a
// frame, in order.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/coreos/butane/config"
	"github.com/coreos/butane/config/common"
)

type entry struct {
	Kind    string `json:"kind"`
	Path    string `json:"path"`
	Message string `json:"message"`
	Line    int64  `json:"line"`
}

type verdict struct {
	Error   string  `json:"error"`
	Output  string  `json:"output"`
	Entries []entry `json:"entries"`
}

// What `butane --files-dir DIR` does: its main function calls config.TranslateBytes and nothing else.
func judge(raw []byte, files string) verdict {
	options := common.TranslateBytesOptions{TranslateOptions: common.TranslateOptions{FilesDir: files}}
	output, report, err := config.TranslateBytes(raw, options)
	result := verdict{Output: string(output), Entries: []entry{}}
	if err != nil {
		result.Error = err.Error()
	}
	for _, e := range report.Entries {
		line, _ := e.Marker.Start()
		result.Entries = append(result.Entries, entry{fmt.Sprint(e.Kind), e.Context.String(), e.Message, line})
	}
	return result
}

func main() {
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
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
		if err := encoder.Encode(judge(raw, os.Args[1])); err != nil {
			fmt.Fprintln(os.Stderr, "judge:", err)
			os.Exit(1)
		}
	}
}
