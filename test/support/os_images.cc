#include "support/os_images.h"

#include <unistd.h>

#include <chrono>
#include <iterator>
#include <map>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json.hpp>

#include "base/fd.h"
#include "base/subprocess.h"
#include "codec/tar.h"
#include "support/lines.h"
#include "support/servers.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;
using codec::TarEntry;
using codec::TarEntryType;
using std::filesystem::path;

constexpr int kRpms = 24;
constexpr std::size_t kMaxBuiltFileBytes = 64u << 20;

constexpr const char* kDpkgStatus = R"(Package: bash
Status: install ok installed
Architecture: amd64
Maintainer: nobody
Version: 5.2.15-2+b7
Description: shell

Package: gone
Status: deinstall ok config-files
Architecture: all
Maintainer: nobody
Version: 1.0
Description: removed

Package: linux-image
Status: install ok installed
Architecture: amd64
Maintainer: nobody
Source: linux (6.12.1-1)
Version: 1:6.12-1
Description: kernel
)";

/// Bytes that do not compress and are the same every time.
std::string noise(std::size_t size, std::uint32_t seed) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) {
    seed = seed * 1664525 + 1013904223;
    byte = static_cast<char>(seed >> 24);
  }
  return bytes;
}

class TreeWriter {
 public:
  TreeWriter& folder(const std::string& path, std::uint32_t mode = 0755,
                     std::map<std::string, std::string> xattrs = {}) {
    return add({.type = TarEntryType::kDirectory, .path = path, .mode = mode, .xattrs = std::move(xattrs)});
  }
  TreeWriter& file(const std::string& path, std::string_view content, std::uint32_t mode = 0644,
                   std::map<std::string, std::string> xattrs = {}) {
    return add({.path = path, .mode = mode, .xattrs = std::move(xattrs)}, content);
  }
  TreeWriter& symlink(const std::string& path, const std::string& target) {
    return add({.type = TarEntryType::kSymlink, .path = path, .link_target = target, .mode = 0777});
  }
  /// Its mode must be that of the target: whoever unpacks it may set it again.
  TreeWriter& hard_link(const std::string& path, const std::string& target, std::uint32_t mode) {
    return add({.type = TarEntryType::kHardLink, .path = path, .link_target = target, .mode = mode});
  }
  TreeWriter& add(const TarEntry& entry, std::string_view content = {}) {
    if (status_.ok()) status_ = writer_.add(entry, content);
    return *this;
  }
  Status write_to(const path& file) {
    STRAKE_CHECK_OK(status_);
    STRAKE_CHECK_OK(writer_.finish());
    return write_file_atomic(file, sink_.text(), 0644);
  }

 private:
  codec::StringSink sink_;
  codec::TarWriter writer_{sink_};
  Status status_;
};

/// What all forms have in common. `etc`: where the configuration is, "usr/etc" in a commit and "etc" elsewhere.
void add_system(TreeWriter& tree, const std::string& etc) {
  for (const char* top : {"boot", "dev", "proc", "run", "sys", "sysroot", "usr", "var"}) tree.folder(top);
  tree.folder("tmp", 01777).folder(etc).folder("usr/bin").folder("usr/lib").folder("usr/share");
  tree.symlink("bin", "usr/bin").symlink("lib", "usr/lib").symlink("ostree", "sysroot/ostree");

  const std::string modules = fmt::format("usr/lib/modules/{}", kOsKernel);
  tree.folder("usr/lib/modules").folder(modules);
  tree.file(modules + "/vmlinuz", noise(90'000, 1), 0755).file(modules + "/initramfs.img", noise(200'000, 2), 0600);
  tree.folder("usr/lib/bootc").folder("usr/lib/bootc/kargs.d");
  tree.file("usr/lib/bootc/kargs.d/10-console.toml", "kargs = [\"console=ttyS0,115200\", \"quiet\"]\n");
  tree.file("usr/lib/bootc/kargs.d/20-arm.toml", "kargs = [\"only.arm\"]\nmatch-architectures = [\"aarch64\"]\n");
  tree.file("usr/lib/os-release",
            fmt::format("NAME=\"Test OS\"\nID=testos\nVERSION_ID=43\nOSTREE_VERSION='{}'\n", kOsVersion));
  tree.symlink(etc + "/os-release", "../usr/lib/os-release");
  tree.file(etc + "/passwd", "root:x:0:0::/root:/bin/sh\n");
  tree.add({.path = etc + "/site.conf", .mode = 0640, .uid = 5, .gid = 7000}, "setting = 1\n");

  tree.file("usr/bin/tool", noise(30'000, 3), 04755);
  tree.hard_link("usr/bin/same-tool", "usr/bin/tool", 04755);
  const std::string capability("\x01\0\0\x02\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
  tree.file("usr/bin/ping", noise(9'000, 4), 0755, {{"security.capability", capability}});

  tree.folder("usr/share/odd", 0700, {{"user.of-a-folder", "yes"}});
  tree.file("usr/share/odd/empty", "").file("usr/share/odd/also empty", "");
  tree.file("usr/share/odd/attributes", "x", 0604, {{"user.one", "1"}, {"user.two", "2\n"}});
  tree.file("usr/share/odd/no-value", "x", 0604, {{"user.empty", ""}, {"user.not-empty", "1"}});
  tree.file("usr/share/odd/gr\xc3\xbc\xc3\x9f Gott", "1").file("usr/share/odd/back\\slash", "2");
  tree.file("usr/share/odd/quo'te\"s", "3").file("usr/share/odd/-rf", "4").file("usr/share/odd/%s #?*", "5");
  tree.file("usr/share/odd/" + std::string(200, 'n'), "6");
  tree.symlink("usr/share/odd/dangling", "/no//such/place/").symlink("usr/share/odd/up", "../../../..");
  tree.folder("usr/share/many");
  for (int i = 0; i < 100; ++i) tree.file(fmt::format("usr/share/many/{}", i), fmt::format("{}\n", i));
}

/// Arguments: the kernel, that of the derived image, the version, the commit.
constexpr const char* kBuildScript = R"script(set -eu
kernel=$1 new_kernel=$2 version=$3 commit=$4

$BUILDAH from --quiet --signature-policy policy.json --name derived oci:chunked:v1
root=$($BUILDAH mount derived)
# ostree-ext keeps neither an attribute without a value nor the order of several when it merges layers.
rm "$root/usr/share/odd/no-value" "$root/usr/share/odd/attributes"
rm "$root/usr/share/odd/empty" "$root/etc/site.conf"
echo 'setting = 2' > "$root/etc/site.conf"
mkdir -m 0750 "$root/etc/added.d"
echo new > "$root/etc/added.d/new.conf"
chmod 0600 "$root/etc/added.d/new.conf"
ln -s new.conf "$root/etc/added.d/link"
rm -r "$root/usr/lib/bootc" "$root/usr/lib/modules/$kernel" "$root/usr/share/many"
mkdir "$root/usr/lib/modules/$new_kernel" "$root/usr/share/many"
echo kernel > "$root/usr/lib/modules/$new_kernel/vmlinuz"
echo initramfs > "$root/usr/lib/modules/$new_kernel/initramfs.img"
echo one > "$root/usr/share/many/one"
ln "$root/usr/share/many/one" "$root/usr/share/many/one-again"
rm "$root/usr/share/rpm/rpmdb.sqlite"
cp rpm-derived/rpmdb.sqlite "$root/usr/share/rpm/rpmdb.sqlite"
mkdir "$root/opt"
echo dropped > "$root/opt/dropped"
$BUILDAH commit --quiet --signature-policy policy.json --format oci --timestamp 1767300000 derived oci:derived:v1

$BUILDAH from --quiet --name plain scratch
$BUILDAH add --quiet plain plain.tar /
$BUILDAH config --label containers.bootc=1 --label org.opencontainers.image.version="$version" plain
$BUILDAH commit --quiet --signature-policy policy.json --format oci --timestamp 1767300000 plain lower
$BUILDAH from --quiet --signature-policy policy.json --name upper localhost/lower
root=$($BUILDAH mount upper)
rm -r "$root/usr/share/many"
rm "$root/usr/share/odd/empty"
echo replaced > "$root/usr/share/odd/-rf"
$BUILDAH commit --quiet --signature-policy policy.json --format oci --timestamp 1767300000 upper oci:plain:v1

$BUILDAH from --quiet --name machine-os scratch
$BUILDAH add --quiet machine-os archive /srv/repo
$BUILDAH config --label com.coreos.ostree-commit="$commit" --label version="$version" machine-os
$BUILDAH commit --quiet --signature-policy policy.json --format docker --timestamp 1767300000 machine-os dir:machine-os-dir
skopeo --policy policy.json copy --quiet dir:machine-os-dir oci:machine-os:v1
)script";

}  // namespace

Result<std::unique_ptr<OsImages>> OsImages::build() {
  std::unique_ptr<OsImages> images(new OsImages);
  STRAKE_CHECK_OK(images->prepare());
  STRAKE_CHECK_OK(images->write_package_databases().context("making package databases"));
  STRAKE_CHECK_OK(images->write_trees().context("writing the trees"));
  STRAKE_CHECK_OK(images->write_repositories().context("committing the tree"));
  STRAKE_CHECK_OK(images->encapsulate().context("writing ostree-native images"));
  STRAKE_CHECK_OK(images->build_containers().context("building containers"));
  STRAKE_CHECK_OK(images->merge_layers().context("merging layers"));
  return images;
}

OsImages::~OsImages() {
  // Files of other owners in a user namespace cannot be removed from outside of it.
  if (::geteuid() != 0) static_cast<void>(run_as_builder("rm -rf storage storage-run merged").ok());
}

Status OsImages::prepare() {
  STRAKE_TRY(const path programs, os_image_programs());
  oxt_ = programs / "oxt";
  std::error_code failure;
  for (const char* name : {"rpms", "newer-rpms", "rpm", "rpm-derived", "dpkg", ".config/containers"}) {
    std::filesystem::create_directories(folder() / name, failure);
    if (failure) return errno_error(failure.value(), (folder() / name).string());
  }
  constexpr const char* kAcceptAnything = R"({"default":[{"type":"insecureAcceptAnything"}]})";
  STRAKE_CHECK_OK(write_file_atomic(folder() / "policy.json", kAcceptAnything, 0644));
  return write_file_atomic(folder() / ".config/containers/policy.json", kAcceptAnything, 0644);
}

Status OsImages::write_package_databases() {
  STRAKE_TRY(const auto built, build_rpms(folder() / "rpms", kRpms));
  STRAKE_CHECK_OK(rpm_database().install({built.begin(), built.end() - 2}));
  STRAKE_TRY(const auto newer, build_rpms(folder() / "newer-rpms", kRpms, "el10"));
  std::vector<path> derived{built.begin() + 3, built.end()};
  derived[5] = newer[8];
  STRAKE_CHECK_OK(derived_rpm_database().install(derived));
  return write_file_atomic(dpkg_folder() / "status", kDpkgStatus, 0644);
}

Status OsImages::write_trees() {
  STRAKE_TRY(const std::string rpm_bytes, read_file(rpm_database().file(), kMaxBuiltFileBytes));
  TreeWriter commit;
  add_system(commit, "usr/etc");
  commit.folder("usr/share/rpm").file("usr/share/rpm/rpmdb.sqlite", rpm_bytes);
  STRAKE_CHECK_OK(commit.write_to(folder() / "commit.tar"));

  TreeWriter plain;
  add_system(plain, "etc");
  plain.folder("var/lib").folder("var/lib/dpkg").file("var/lib/dpkg/status", kDpkgStatus);
  return plain.write_to(folder() / "plain.tar");
}

Status OsImages::write_repositories() {
  STRAKE_TRY(std::string initialised, run({"ostree", "--repo=bare-user", "init", "--mode=bare-user"}));
  STRAKE_TRY(commit_,
             run({"ostree", "--repo=bare-user", "commit", std::string("--branch=") + kOsBranch, "--tree=tar=commit.tar",
                  "--tar-autocreate-parents", "--timestamp=@1767225600", "--subject=Test OS", "--bootable",
                  std::string("--add-metadata-string=version=") + kOsVersion}));
  while (commit_.ends_with('\n')) commit_.pop_back();
  STRAKE_TRY(initialised, run({"ostree", "--repo=archive", "init", "--mode=archive"}));
  STRAKE_TRY(const std::string pulled, run({"ostree", "--repo=archive", "pull-local", "bare-user", kOsBranch}));
  return {};
}

/// Which file belongs to which component, for ostree-ext.
Result<std::string> OsImages::content_meta() const {
  STRAKE_TRY(const std::string listing, run({"ostree", "--repo=bare-user", "ls", "-R", "-C", kOsBranch}));
  boost::json::object mapping;
  for (const std::string_view line : lines_of(listing)) {
    if (line.starts_with('d')) continue;
    const std::size_t slash = line.find('/');
    if (slash == line.npos || slash < 65) return error(Code::kInternal, "no line of ostree: {}", line);
    const std::string_view name = line.substr(slash);
    const char* component = name.starts_with("/usr/lib/modules/") ? "kernel"
                            : name.starts_with("/usr/etc/")       ? "configuration"
                            : name.starts_with("/usr/share/rpm/") ? "packages"
                            : name.starts_with("/usr/share/")     ? "shared"
                                                                  : "base";
    mapping[line.substr(slash - 65, 64)] = component;
  }
  boost::json::object layers;
  for (const char* component : {"kernel", "configuration", "packages", "shared", "base"}) layers[component] = component;
  return boost::json::serialize(boost::json::object{{"version", 1}, {"layers", layers}, {"mapping", mapping}});
}

Status OsImages::encapsulate() {
  STRAKE_TRY(std::string written,
             run({oxt_, "container", "encapsulate", "--repo=bare-user", kOsBranch, "oci:single:v1"}));
  STRAKE_TRY(const std::string meta, content_meta());
  STRAKE_CHECK_OK(write_file_atomic(folder() / "content-meta.json", meta, 0644));
  STRAKE_TRY(written, run({oxt_, "container", "encapsulate", "--repo=bare-user", "--contentmeta=content-meta.json",
                           kOsBranch, "oci:chunked:v1"}));
  return {};
}

Status OsImages::build_containers() {
  STRAKE_TRY(const std::string built, run_as_builder(kBuildScript, {kOsKernel, kDerivedOsKernel, kOsVersion, commit_}));
  return {};
}

Status OsImages::merge_layers() {
  constexpr const char* kMergeScript = R"script(set -eu
ostree --repo=merged init --mode=bare
"$1" container image pull merged "ostree-unverified-image:oci:$PWD/derived:v1"
ostree --repo=merged refs --create="$2" "$(ostree --repo=merged refs | grep ^ostree/container/image/)"
)script";
  STRAKE_TRY(const std::string merged, run_as_builder(kMergeScript, {oxt_, kOsBranch}));
  return {};
}

Result<const OsImages*> shared_os_images() {
  static const Result<std::unique_ptr<OsImages>> images = OsImages::build();
  if (!images.ok()) return images.error();
  return images->get();
}

Result<std::string> OsImages::run(std::vector<std::string> argv) const {
  Command command;
  command.argv = std::move(argv);
  // Names in layers are UTF-8 whatever the caller's locale is: ostree refuses to convert them otherwise.
  command.env = {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + folder().string(),
                 "TMPDIR=" + folder().string(), "LC_ALL=C.UTF-8",
                 "BUILDAH=buildah --root " + (folder() / "storage").string() + " --runroot " +
                     (folder() / "storage-run").string() + " --storage-driver vfs"};
  command.cwd = folder();
  command.timeout = 120s;
  command.stdout_limit_bytes = std::size_t{256} << 20;
  STRAKE_TRY_CONTEXT(ProcessOutput output, run_checked(command), "{}", fmt::join(command.argv, " "));
  return std::move(output.stdout_bytes);
}

Result<std::string> OsImages::run_as_builder(const std::string& script, std::vector<std::string> arguments) const {
  std::vector<std::string> argv;
  if (::geteuid() != 0) argv = {"buildah", "unshare"};  // root of a user namespace
  argv.insert(argv.end(), {"sh", "-c", script, "sh"});
  argv.insert(argv.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
  return run(std::move(argv));
}

}  // namespace strake::test
