package main

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/coreos/ign-converter/translate/v32tov22"
	"github.com/coreos/ign-converter/translate/v32tov31"
	"github.com/coreos/ign-converter/translate/v33tov32"
	"github.com/coreos/ign-converter/translate/v34tov33"
	"github.com/coreos/ign-converter/translate/v35tov34"
	"github.com/coreos/ignition/v2/config/v3_5"
	"github.com/coreos/ignition/v2/config/v3_5/types"
)

// A second assembly of a config server's answers, over coreos' own types and translations.
type serveQuestion struct {
	MachineConfig map[string]any  `json:"machineConfig"` // its spec.config is of spec 3.5.0
	APIServerCA   string          `json:"apiServerCA"`
	CloudCA       string          `json:"cloudCA"`
	Kubeconfig    string          `json:"kubeconfig"`
	LayeredImage  string          `json:"layeredImage"`
	Registries    []registryTrust `json:"registries"`
	Bootstrap     bool            `json:"bootstrap"`
}

type registryTrust struct {
	Name string `json:"name"`
	PEM  string `json:"pem"`
}

const (
	operatorPrefix = "machineconfiguration.openshift.io/"
	preBuiltImage  = operatorPrefix + "pre-built-image"
)

// Percent-encoded as a data URL without a media type; the reader compares what it decodes to.
func dataURL(text string) *string {
	source := "data:," + strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
	return &source
}

func newFile(path, text string) types.File {
	mode, overwrite := 0o644, true
	file := types.File{Node: types.Node{Path: path, Overwrite: &overwrite}}
	file.Mode = &mode
	file.Contents.Source = dataURL(text)
	return file
}

func replaceOrAppend(config *types.Config, path, text string) {
	if text == "" {
		return
	}
	for i := range config.Storage.Files {
		if config.Storage.Files[i].Path == path {
			config.Storage.Files[i].Contents = types.Resource{Source: dataURL(text)}
			return
		}
	}
	config.Storage.Files = append(config.Storage.Files, newFile(path, text))
}

// Numbers stay as they are written: a float64 would change the large ones.
func decode(text []byte, into any) error {
	decoder := stdjson.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

func copyOf(value map[string]any) map[string]any {
	text, err := stdjson.Marshal(value)
	if err != nil {
		panic(err)
	}
	var result map[string]any
	if err := decode(text, &result); err != nil {
		panic(err)
	}
	return result
}

func memberOf(object map[string]any, name string) map[string]any {
	member, ok := object[name].(map[string]any)
	if !ok {
		member = map[string]any{}
		object[name] = member
	}
	return member
}

func assemble(question serveQuestion, minor string, beforeKernelArguments bool) (types.Config, error) {
	machineConfig := copyOf(question.MachineConfig)
	metadata, spec := memberOf(machineConfig, "metadata"), memberOf(machineConfig, "spec")
	delete(metadata, "creationTimestamp")
	delete(metadata, "managedFields")
	raw, err := stdjson.Marshal(spec["config"])
	if err != nil {
		return types.Config{}, err
	}
	config, _, err := v3_5.Parse(raw)
	if err != nil {
		return config, err
	}
	if beforeKernelArguments {
		if len(config.KernelArguments.ShouldNotExist) > 0 {
			return config, errors.New("nothing removes kernel arguments")
		}
		arguments, _ := spec["kernelArguments"].([]any)
		for _, argument := range config.KernelArguments.ShouldExist {
			arguments = append(arguments, string(argument))
		}
		if len(config.KernelArguments.ShouldExist) > 0 {
			spec["kernelArguments"] = arguments
		}
		config.KernelArguments = types.KernelArguments{}
	}
	replaceOrAppend(&config, "/etc/kubernetes/kubelet-ca.crt", question.APIServerCA)
	replaceOrAppend(&config, "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem", question.CloudCA)

	name, _ := metadata["name"].(string)
	annotations := map[string]string{operatorPrefix + "state": "Done"}
	for _, which := range []string{"currentConfig", "desiredConfig", "firstPivotConfig"} {
		annotations[operatorPrefix+which] = name
	}
	image := question.LayeredImage
	if own, ok := memberOf(copyOf(metadata), "annotations")[preBuiltImage].(string); ok {
		image = own
	}
	if image != "" {
		annotations[operatorPrefix+"currentImage"], annotations[operatorPrefix+"desiredImage"] = image, image
	}
	annotationText, _ := stdjson.Marshal(annotations)
	if question.LayeredImage != "" {
		spec["osImageURL"] = question.LayeredImage
	}
	full, _ := stdjson.MarshalIndent(machineConfig, "", "    ")
	version := minor + ".0"
	if question.Bootstrap {
		version = "3.5.0"
	}
	shell := copyOf(machineConfig)
	memberOf(shell, "spec")["config"] = map[string]any{"ignition": map[string]any{"version": version}}
	shellText, _ := stdjson.Marshal(shell)

	add := func(path, text string) { config.Storage.Files = append(config.Storage.Files, newFile(path, text)) }
	add("/etc/machine-config-daemon/node-annotations.json", string(annotationText))
	add("/etc/kubernetes/kubeconfig", question.Kubeconfig)
	add("/etc/mcs-machine-config-content.json", string(full))
	for _, registry := range question.Registries {
		add("/etc/docker/certs.d/"+registry.Name+"/ca.crt", registry.PEM)
	}
	add("/etc/ignition-machine-config-encapsulated.json", string(shellText))
	return config, nil
}

func serveAs(question serveQuestion, minor string) outcome {
	steps := map[string]int{"3.5": 0, "3.4": 1, "3.3": 2, "3.2": 3, "3.1": 4, "2.2": 4}[minor]
	config5, err := assemble(question, minor, steps > 2)
	if err != nil || steps == 0 {
		return outcomeOf(config5, err)
	}
	config4, err := v35tov34.Translate(config5)
	if err != nil || steps == 1 {
		return outcomeOf(config4, err)
	}
	config3, err := v34tov33.Translate(config4)
	if err != nil || steps == 2 {
		return outcomeOf(config3, err)
	}
	config2, err := v33tov32.Translate(config3)
	if err != nil || steps == 3 {
		return outcomeOf(config2, err)
	}
	if minor == "3.1" {
		config1, err := v32tov31.Translate(config2)
		return outcomeOf(config1, err)
	}
	config22, err := v32tov22.Translate(config2)
	return outcomeOf(config22, err)
}

func serve(raw []byte) any {
	results := map[string]outcome{}
	var question serveQuestion
	if err := decode(raw, &question); err != nil {
		results["3.5"] = outcomeOf(nil, err)
		return results
	}
	for _, minor := range []string{"3.5", "3.4", "3.3", "3.2", "3.1", "2.2"} {
		results[minor] = serveAs(question, minor)
	}
	return results
}
