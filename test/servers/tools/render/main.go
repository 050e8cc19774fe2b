// The judge of rendered names: it merges MachineConfigs with coreos/ignition and hashes the result with encoding/json and yaml.v2, the
// libraries the Machine Config Operator uses, by the rules of its documentation.
//
// Input: frames of a decimal length, a newline and that many bytes of JSON. Output: one line of JSON a frame, in order.
// A frame is {"spec": ...}: the YAML and hash of that spec; or {"configs": [...], "osImage": "", "extensionsImage": ""}: the same for what
// the MachineConfigs merge to, which come in merge order.
// With the argument "time", one frame is read, handled again and again, and the processor time of one round is printed.
package main

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	structural "github.com/clarketm/json"
	ignition "github.com/coreos/ignition/v2/config/v3_5"
	"github.com/coreos/ignition/v2/config/v3_5/types"
	"gopkg.in/yaml.v2"
)

// What every name begins its hash with.
var salt = []byte{
	16, 124, 206, 228, 139, 56, 175, 175, 79, 229, 134, 118, 157, 154, 211, 110,
	25, 93, 47, 253, 172, 106, 37, 7, 174, 13, 160, 185, 110, 17, 87, 52,
	219, 131, 12, 206, 218, 141, 116, 135, 188, 181, 192, 151, 233, 62, 126, 165,
	64, 83, 179, 119, 15, 168, 208, 197, 146, 107, 58, 227, 133, 188, 238, 26,
	33, 26, 235, 202, 32, 173, 31, 234, 41, 144, 148, 79, 6, 206, 23, 22,
}

type spec struct {
	OSImageURL      string          `json:"osImageURL"`
	ExtensionsImage string          `json:"baseOSExtensionsContainerImage"`
	Config          json.RawMessage `json:"config"`
	KernelArguments []string        `json:"kernelArguments"`
	Extensions      []string        `json:"extensions"`
	FIPS            bool            `json:"fips"`
	KernelType      string          `json:"kernelType"`
}

type machineConfig struct {
	Generated bool `json:"generated"`
	Spec      spec `json:"spec"`
}

type question struct {
	Spec            json.RawMessage `json:"spec"`
	Configs         []machineConfig `json:"configs"`
	OSImage         string          `json:"osImage"`
	ExtensionsImage string          `json:"extensionsImage"`
}

type answer struct {
	Hash     string          `json:"hash"`
	YAML     string          `json:"yaml"`
	JSONSize int             `json:"jsonSize"`
	Config   json.RawMessage `json:"config,omitempty"`
	Error    string          `json:"error"`
}

func hasConfig(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func parse(raw json.RawMessage) (types.Config, error) {
	config, report, err := ignition.ParseCompatibleVersion(raw)
	if err != nil {
		return config, fmt.Errorf("%w: %s", err, report.String())
	}
	for _, file := range config.Storage.Files {
		if file.Mode != nil && *file.Mode > 0o777 {
			return config, fmt.Errorf("invalid mode of %s", file.Path)
		}
	}
	return config, nil
}

func mergeIgnition(configs []machineConfig) (json.RawMessage, error) {
	merged := types.Config{Ignition: types.Ignition{Version: types.MaxVersion.String()}}
	for i, config := range configs {
		if !hasConfig(config.Spec.Config) {
			continue
		}
		child, err := parse(config.Spec.Config)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			merged = child
			continue
		}
		none := ""
		for f := range child.Storage.Files {
			if contents := &child.Storage.Files[f].Contents; contents.Compression == nil {
				contents.Compression = &none
			}
		}
		merged = ignition.Merge(merged, child)
		for f := range merged.Storage.Files {
			if contents := &merged.Storage.Files[f].Contents; contents.Compression != nil && *contents.Compression == "" {
				contents.Compression = nil
			}
		}
	}
	yes := true
	for f := range merged.Storage.Files {
		if merged.Storage.Files[f].Overwrite == nil {
			merged.Storage.Files[f].Overwrite = &yes
		}
	}
	return structural.Marshal(merged)
}

func merge(q question) (spec, error) {
	merged := spec{OSImageURL: q.OSImage, ExtensionsImage: q.ExtensionsImage, KernelArguments: []string{}, Extensions: []string{}, KernelType: "default"}
	devel := false
	for _, config := range q.Configs {
		own := config.Spec
		merged.KernelArguments = append(merged.KernelArguments, own.KernelArguments...)
		merged.Extensions = append(merged.Extensions, own.Extensions...)
		merged.FIPS = merged.FIPS || own.FIPS
		if own.KernelType == "realtime" || own.KernelType == "64k-pages" {
			merged.KernelType = own.KernelType
		}
		if own.OSImageURL != "" && !config.Generated {
			merged.OSImageURL = own.OSImageURL
		}
		if own.ExtensionsImage != "" && !config.Generated {
			merged.ExtensionsImage = own.ExtensionsImage
		}
		for _, extension := range own.Extensions {
			devel = devel || extension == "kernel-devel"
		}
	}
	if devel && merged.KernelType != "default" {
		return merged, errors.New("kernel-devel with another kernel")
	}
	config, err := mergeIgnition(q.Configs)
	merged.Config = config
	return merged, err
}

// JSON read back as YAML 1.1 and written again: what the name is a hash of.
func yamlOf(text []byte) ([]byte, error) {
	var value interface{}
	if err := yaml.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	return yaml.Marshal(value)
}

// The same value as Go's encoder writes it; numbers keep their digits.
func goJSON(raw json.RawMessage) ([]byte, error) {
	if raw == nil {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value interface{}
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func judge(raw []byte) (result answer) {
	// The YAML writer panics on what it cannot write.
	defer func() {
		if trouble := recover(); trouble != nil {
			result = answer{Error: fmt.Sprint(trouble)}
		}
	}()
	var q question
	if err := json.Unmarshal(raw, &q); err != nil {
		return answer{Error: err.Error()}
	}
	text, err := goJSON(q.Spec)
	if err != nil {
		return answer{Error: err.Error()}
	}
	if q.Spec == nil {
		merged, err := merge(q)
		if err != nil {
			return answer{Error: err.Error()}
		}
		if text, err = json.Marshal(merged); err != nil {
			return answer{Error: err.Error()}
		}
		result.Config = merged.Config
	}
	written, err := yamlOf(text)
	if err != nil {
		return answer{Error: err.Error()}
	}
	sum := md5.Sum(append(append([]byte{}, salt...), written...))
	result.Hash = hex.EncodeToString(sum[:])
	result.YAML = string(written)
	result.JSONSize = len(text)
	return result
}

// nil at the end of the input.
func readFrame(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadString('\n')
	if err == io.EOF && line == "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("a frame does not start with its length: %w", err)
	}
	length, err := strconv.Atoi(line[:len(line)-1])
	if err != nil {
		return nil, fmt.Errorf("a frame does not start with its length: %w", err)
	}
	raw := make([]byte, length)
	if _, err := io.ReadFull(in, raw); err != nil {
		return nil, fmt.Errorf("a frame is cut: %w", err)
	}
	return raw, nil
}

func answerAll(in *bufio.Reader, out *bufio.Writer) error {
	encoder := json.NewEncoder(out)
	for {
		raw, err := readFrame(in)
		if raw == nil || err != nil {
			return err
		}
		if err := encoder.Encode(judge(raw)); err != nil {
			return err
		}
	}
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return float64(usage.Utime.Sec+usage.Stime.Sec) + float64(usage.Utime.Usec+usage.Stime.Usec)/1e6
}

// Parsed MachineConfigs to hash, until it took long enough to be measured; garbage collection counts.
func measure(in *bufio.Reader, out *bufio.Writer) error {
	raw, err := readFrame(in)
	if err != nil {
		return err
	}
	var q question
	if err := json.Unmarshal(raw, &q); err != nil {
		return err
	}
	begin := cpuSeconds()
	rounds := 0
	hash := ""
	for rounds < 1 || (cpuSeconds()-begin < 1 && rounds < 1000) {
		merged, err := merge(q)
		if err != nil {
			return err
		}
		text, err := json.Marshal(merged)
		if err != nil {
			return err
		}
		written, err := yamlOf(text)
		if err != nil {
			return err
		}
		sum := md5.Sum(append(append([]byte{}, salt...), written...))
		hash = hex.EncodeToString(sum[:])
		rounds++
	}
	_, err = fmt.Fprintf(out, "{\"seconds\":%.9f,\"rounds\":%d,\"hash\":%q}\n", (cpuSeconds()-begin)/float64(rounds), rounds, hash)
	return err
}

func main() {
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	work := answerAll
	if len(os.Args) > 1 && os.Args[1] == "time" {
		work = measure
	}
	err := work(in, out)
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}
