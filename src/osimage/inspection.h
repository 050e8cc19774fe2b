// Inspection: what an OS image says about itself: its release, kernel, kernel arguments, packages, labels.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codec/json.h"
#include "osimage/os_image.h"
#include "packages/packages.h"

namespace strake::osimage {

/// A file of usr/lib/bootc/kargs.d.
struct KernelArgumentsFile {
  std::string path;
  std::vector<std::string> arguments{};
  std::vector<std::string> architectures{};  ///< where they count; empty: everywhere
  std::string problem{};                     ///< why bootc would refuse it; empty: it would not
};

struct Kernel {
  struct File {
    std::string path;
    std::uint64_t size = 0;
  };
  std::string version;
  std::optional<File> vmlinuz{};
  std::optional<File> initramfs{};
};

struct PackageDatabase {
  packages::PackageSystem system;
  std::string path;
  std::vector<packages::Package> packages{};
  std::string problem{};  ///< why it cannot be read; empty: it was
  bool damaged = false;   ///< the problem is its content, not its kind

  /// "unreadable" or "unsupported": what the problem amounts to.
  std::string_view trouble() const { return damaged ? "unreadable" : "unsupported"; }
};

struct Inspection {
  std::map<std::string, std::string> os_release;
  std::vector<Kernel> kernels;
  std::vector<KernelArgumentsFile> kernel_arguments;
  std::vector<PackageDatabase> package_databases;
  bool bootable = false;
};

/// Reads each layer that holds something of it once.
Result<Inspection> inspect(OsImage& image, const runtime::Call& call);

/// Only the packages, for comparing two images.
Result<std::vector<PackageDatabase>> read_packages(OsImage& image, const runtime::Call& call);

/// Only the versions of the kernels, for the same; reads no layer.
Result<std::vector<std::string>> read_kernel_versions(OsImage& image, const runtime::Call& call);

json::Object inspection_json(const ImageFacts& facts, const Inspection& inspection);
std::string describe_inspection(const ImageFacts& facts, const Inspection& inspection, bool list_packages);

/// KEY=value lines with the quotes of a shell.
std::map<std::string, std::string> parse_os_release(std::string_view text);
/// `path` is for the result alone.
KernelArgumentsFile parse_kernel_arguments(std::string path, std::string_view toml);

}  // namespace strake::osimage
