// Writes src/apistore/schema/kubernetes_types.txt, the fields of the Kubernetes types that the embedded API server stores or is sent, from the struct
// tags of the Go types that every Kubernetes client is made of. For a new Kubernetes version, after ./dev servers:
//
//	cd test/servers/kube && go run ../../../tools/kubernetes_types.go \
//	  > ../../../src/apistore/schema/kubernetes_types.txt
package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Bodies of requests.
var roots = []any{
	core.ConfigMap{}, core.Event{}, core.Namespace{}, core.Node{}, core.Pod{}, core.Secret{},
	coordination.Lease{}, policy.PodDisruptionBudget{}, policy.Eviction{}, meta.DeleteOptions{},
	authentication.SelfSubjectReview{}, authorization.SelfSubjectAccessReview{}, authorization.SelfSubjectRulesReview{},
}

// Lists inside maps have no notation. Only the server writes these, and this server never does.
var unused = reflect.TypeOf(map[string]authentication.ExtraValue{})

// Structs that are a single value in JSON.
var values = map[reflect.Type]string{
	reflect.TypeOf(meta.Time{}):          "Time",
	reflect.TypeOf(meta.MicroTime{}):     "MicroTime",
	reflect.TypeOf(meta.FieldsV1{}):      "FieldsV1",
	reflect.TypeOf(resource.Quantity{}):  "Quantity",
	reflect.TypeOf(intstr.IntOrString{}): "IntOrString",
}

const header = `# The fields of Kubernetes 1.34's own types, written by tools/kubernetes_types.go. See kubernetes_types.h for who reads this.
#
#   Type: NUMBER NAME TYPE, ...    NUMBER is the field's in protobuf, NAME its name in JSON.
#   []TYPE is a list, {}TYPE a map from strings.
#   NAME! may be absent, and zero or empty is something else. NAME= is never absent, only zero or empty. For all other
#   fields zero or empty is the same as absent, and is not shown.
#   NUMBER ^ TYPE has no name: its members are members of the type it is in.
#   TYPE by KEY is a list that a strategic merge patch merges, elements told apart by KEY; TYPE as set one of plain
#   values, kept as a set; TYPE as whole an object that is replaced.
`

const lineWidth = 120

var seen = map[reflect.Type]bool{}

func typeName(t reflect.Type, queue *[]reflect.Type) string {
	if name, ok := values[t]; ok {
		return name
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem(), queue)
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32:
		return "int32"
	case reflect.Int64:
		return "int64"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + typeName(t.Elem(), queue)
	case reflect.Map:
		return "{}" + typeName(t.Elem(), queue)
	case reflect.Struct:
		if !seen[t] {
			seen[t] = true
			*queue = append(*queue, t)
		}
		return t.Name()
	}
	panic(fmt.Sprintf("%v has no notation", t))
}

// How a strategic merge patch treats the field; "" for the default.
func mergeRule(field reflect.StructField) string {
	key := field.Tag.Get("patchMergeKey")
	for _, strategy := range strings.Split(field.Tag.Get("patchStrategy"), ",") {
		switch {
		case strategy == "merge" && key != "":
			return " by " + key
		case strategy == "merge":
			return " as set"
		case strategy == "replace":
			return " as whole"
		}
	}
	return ""
}

func describe(t reflect.Type, queue *[]reflect.Type) string {
	line := t.Name() + ":"
	text := ""
	for i := 0; i < t.NumField(); i++ {
		field := t.Field(i)
		tag := field.Tag.Get("protobuf")
		if tag == "" {
			if field.Type != reflect.TypeOf(meta.TypeMeta{}) {
				panic(fmt.Sprintf("%v.%s is not in protobuf", t, field.Name))
			}
			continue
		}
		if field.Type == unused {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if strings.Contains(options, "inline") {
			name = "^"
		} else if field.Type.Kind() == reflect.Pointer {
			name += "!"
		} else if strings.Contains(options, "omitzero") {
			// no mark
		} else if field.Type.Kind() == reflect.Struct || !strings.Contains(options, "omitempty") {
			name += "=" // Go writes a struct whether it is empty or not
		}
		item := fmt.Sprintf(" %s %s %s%s", strings.Split(tag, ",")[1], name, typeName(field.Type, queue), mergeRule(field))
		if i < t.NumField()-1 && t.Field(i+1).Type != unused {
			item += ","
		}
		if len(line)+len(item) > lineWidth {
			text += line + "\n"
			line = " "
		}
		line += item
	}
	return text + line + "\n"
}

func main() {
	var queue []reflect.Type
	for _, root := range roots {
		typeName(reflect.TypeOf(root), &queue)
	}
	names := map[string]bool{}
	fmt.Fprint(os.Stdout, header)
	for len(queue) > 0 {
		t := queue[0]
		queue = queue[1:]
		if names[t.Name()] {
			panic("two types are named " + t.Name())
		}
		names[t.Name()] = true
		fmt.Print(describe(t, &queue))
	}
}
