// The judge of Ignition 2.x configs, of translations between specs and of merges, many a process.
//
// Input: frames of a decimal length, a newline and that many bytes. Output: one line of JSON a frame, in order.
// The first argument says what is done with each frame:
//
//	validate  a 2.x config is judged: {"error", "entries"}
//	raise     a 2.x or 3.x config is translated up to 3.5.0: {"error", "config"}
//	lower     a 3.5.0 config is translated down, one version after the other: {"3.4": {"error", "config"}, ... "2.2": ...}
//	merge     {"parent", "child"}, both 3.5.0, are merged: {"error", "config"}
//	serve     what a config server hands out for a MachineConfig, in every version, by the documented order; see serve.go
package main

import (
	"bufio"
	stdjson "encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/clarketm/json"
	"github.com/coreos/ign-converter/translate/v23tov30"
	"github.com/coreos/ign-converter/translate/v32tov22"
	"github.com/coreos/ign-converter/translate/v32tov31"
	"github.com/coreos/ign-converter/translate/v33tov32"
	"github.com/coreos/ign-converter/translate/v34tov33"
	"github.com/coreos/ign-converter/translate/v35tov34"
	"github.com/coreos/ignition/config/v2_2"
	"github.com/coreos/ignition/config/v2_3"
	ignerrors "github.com/coreos/ignition/v2/config/shared/errors"
	v3_1 "github.com/coreos/ignition/v2/config/v3_1/translate"
	v3_2 "github.com/coreos/ignition/v2/config/v3_2/translate"
	v3_3 "github.com/coreos/ignition/v2/config/v3_3/translate"
	v3_4 "github.com/coreos/ignition/v2/config/v3_4/translate"
	"github.com/coreos/ignition/v2/config/v3_5"
	to3_5 "github.com/coreos/ignition/v2/config/v3_5/translate"
)

type entry struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
}

type verdict struct {
	Error   string  `json:"error"`
	Entries []entry `json:"entries"`
}

// A config, or why there is none. The config is written as the Machine Config Operator writes it: without empty objects.
type outcome struct {
	Error  string             `json:"error,omitempty"`
	Config stdjson.RawMessage `json:"config,omitempty"`
}

func outcomeOf(config any, err error) outcome {
	if err != nil {
		return outcome{Error: err.Error()}
	}
	text, err := json.Marshal(config)
	if err != nil {
		return outcome{Error: "judge: " + err.Error()}
	}
	return outcome{Config: text}
}

func validate(raw []byte) any {
	_, report, err := v2_2.Parse(raw)
	result := verdict{Entries: []entry{}}
	if err != nil {
		result.Error = err.Error()
	}
	for _, e := range report.Entries {
		result.Entries = append(result.Entries, entry{e.Kind.String(), e.Message, e.Line, e.Column})
	}
	return result
}

func raise(raw []byte) any {
	config, _, err := v3_5.ParseCompatibleVersion(raw)
	if err != ignerrors.ErrUnknownVersion {
		return outcomeOf(config, err)
	}
	old, _, err := v2_2.Parse(raw)
	if err != nil {
		return outcomeOf(nil, err)
	}
	v3_0, err := v23tov30.Translate(v2_3.Translate(old), map[string]string{"root": "/"})
	return outcomeOf(to3_5.Translate(v3_4.Translate(v3_3.Translate(v3_2.Translate(v3_1.Translate(v3_0))))), err)
}

func lower(raw []byte) any {
	results := map[string]outcome{}
	config5, _, err := v3_5.Parse(raw)
	if err != nil {
		results["3.5"] = outcomeOf(nil, err)
		return results
	}
	config4, err := v35tov34.Translate(config5)
	results["3.4"] = outcomeOf(config4, err)
	if err != nil {
		return results
	}
	config3, err := v34tov33.Translate(config4)
	results["3.3"] = outcomeOf(config3, err)
	if err != nil {
		return results
	}
	config2, err := v33tov32.Translate(config3)
	results["3.2"] = outcomeOf(config2, err)
	if err != nil {
		return results
	}
	config1, err := v32tov31.Translate(config2)
	results["3.1"] = outcomeOf(config1, err)
	config22, err := v32tov22.Translate(config2)
	results["2.2"] = outcomeOf(config22, err)
	return results
}

func merge(raw []byte) any {
	var pair struct {
		Parent stdjson.RawMessage `json:"parent"`
		Child  stdjson.RawMessage `json:"child"`
	}
	if err := stdjson.Unmarshal(raw, &pair); err != nil {
		return outcomeOf(nil, err)
	}
	parent, _, err := v3_5.Parse(pair.Parent)
	if err != nil {
		return outcomeOf(nil, err)
	}
	child, _, err := v3_5.Parse(pair.Child)
	return outcomeOf(v3_5.Merge(parent, child), err)
}

// The validator of spec 2.0 falls over URLs with a user name.
func guarded(action func([]byte) any, raw []byte) (answer any) {
	defer func() {
		if cause := recover(); cause != nil {
			answer = verdict{fmt.Sprint("panic: ", cause), []entry{}}
		}
	}()
	return action(raw)
}

func main() {
	actions := map[string]func([]byte) any{"validate": validate, "raise": raise, "lower": lower, "merge": merge, "serve": serve}
	if len(os.Args) != 2 || actions[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: judge-ignition2 validate|raise|lower|merge|serve")
		os.Exit(1)
	}
	action := actions[os.Args[1]]
	debug.SetGCPercent(1000) // short-lived and small: time matters, memory does not
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := stdjson.NewEncoder(out)
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
		if err := encoder.Encode(guarded(action, raw)); err != nil {
			fmt.Fprintln(os.Stderr, "judge:", err)
			os.Exit(1)
		}
	}
}
