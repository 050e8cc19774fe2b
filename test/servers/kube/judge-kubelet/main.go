// judge-kubelet says what a kubelet would say of configuration files at its start. One JSON string a line in, each the
// text of a file; one line out for each: "ok", or what is wrong with it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
)

func judge(text string) error {
	_, codecs, err := scheme.NewSchemeAndCodecs(serializer.EnableStrict)
	if err != nil {
		return err
	}
	object, err := runtime.Decode(codecs.UniversalDecoder(), []byte(text))
	if err != nil {
		return err
	}
	parsed, ok := object.(*config.KubeletConfiguration)
	if !ok {
		return fmt.Errorf("not a KubeletConfiguration but %T", object)
	}
	return validation.ValidateKubeletConfiguration(parsed, utilfeature.DefaultFeatureGate.DeepCopy())
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var text string
		if err := json.Unmarshal(lines.Bytes(), &text); err != nil {
			fmt.Fprintln(os.Stderr, "judge-kubelet: a line is not a JSON string:", err)
			os.Exit(1)
		}
		if err := judge(text); err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Println("ok")
		}
	}
}
