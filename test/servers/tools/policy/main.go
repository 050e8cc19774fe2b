// judge-policy says what a container runtime would say of images: may they run, by the policy.json, registries.conf and
// registries.d it is given? One line out for each image named: "ok", or why it is refused.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/containers/image/v5/docker"
	"github.com/containers/image/v5/image"
	"github.com/containers/image/v5/signature"
	"github.com/containers/image/v5/types"
)

func judge(name string, policyFile string, system *types.SystemContext) error {
	policy, err := signature.NewPolicyFromFile(policyFile)
	if err != nil {
		return err
	}
	rules, err := signature.NewPolicyContext(policy)
	if err != nil {
		return err
	}
	defer rules.Destroy()
	reference, err := docker.ParseReference("//" + name)
	if err != nil {
		return err
	}
	ctx := context.Background()
	source, err := reference.NewImageSource(ctx, system)
	if err != nil {
		return err
	}
	defer source.Close()
	allowed, err := rules.IsRunningImageAllowed(ctx, image.UnparsedInstance(source, nil))
	if err == nil && !allowed {
		return errors.New("refused without a reason")
	}
	return err
}

func main() {
	system := &types.SystemContext{}
	policyFile := flag.String("policy", "", "policy.json")
	flag.StringVar(&system.SystemRegistriesConfPath, "registries-conf", "", "registries.conf")
	flag.StringVar(&system.RegistriesDirPath, "registries.d", "", "the folder registries.d")
	flag.Parse()
	for _, name := range flag.Args() {
		if err := judge(name, *policyFile, system); err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Println("ok")
		}
	}
}
