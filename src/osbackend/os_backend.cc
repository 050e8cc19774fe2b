#include "osbackend/os_backend.h"

#include <algorithm>

namespace strake::osbackend {

namespace {

/// As sets in which an argument may stand twice: their order on the command line is the machine's business.
std::vector<std::string> sorted(std::vector<std::string> items) {
  std::sort(items.begin(), items.end());
  return items;
}

std::string image_text(const std::optional<ImageReference>& image) { return image ? image->to_string() : "no image"; }

}  // namespace

std::string_view to_string(KernelType type) {
  switch (type) {
    case KernelType::kDefault: return "default";
    case KernelType::kRealtime: return "realtime";
    case KernelType::k64kPages: return "64k-pages";
  }
  return "unknown";
}

Result<KernelType> parse_kernel_type(std::string_view text) {
  if (text.empty()) return KernelType::kDefault;
  for (const KernelType type : {KernelType::kDefault, KernelType::kRealtime, KernelType::k64kPages}) {
    if (text == to_string(type)) return type;
  }
  return error(Code::kInvalidArgument, "'{}' is not a kernel type; known are default, realtime and 64k-pages", text);
}

std::vector<std::string> differences(const Deployment& deployment, const OsTarget& target) {
  std::vector<std::string> found;
  if (target.image && deployment.image != target.image) {
    found.push_back(fmt::format("OS image {} instead of {}", image_text(deployment.image), image_text(target.image)));
  }
  if (sorted(deployment.kernel_arguments) != sorted(target.kernel_arguments)) {
    found.push_back(fmt::format("kernel arguments [{}] instead of [{}]", fmt::join(deployment.kernel_arguments, " "),
                                fmt::join(target.kernel_arguments, " ")));
  }
  if (deployment.kernel_type != target.kernel_type) {
    found.push_back(
        fmt::format("kernel {} instead of {}", to_string(deployment.kernel_type), to_string(target.kernel_type)));
  }
  if (sorted(deployment.extensions) != sorted(target.extensions)) {
    found.push_back(fmt::format("extensions [{}] instead of [{}]", fmt::join(deployment.extensions, " "),
                                fmt::join(target.extensions, " ")));
  }
  return found;
}

std::vector<std::string> beyond_backend(const OsStatus& os, const OsTarget& target) {
  std::vector<std::string> parts;
  const Capabilities& can = os.capabilities;
  if (!can.image && target.image && os.booted.image != target.image)
    parts.push_back(fmt::format("OS image {}", target.image->to_string()));
  if (!can.kernel_arguments && sorted(os.booted.kernel_arguments) != sorted(target.kernel_arguments))
    parts.push_back(fmt::format("kernel arguments [{}]", fmt::join(target.kernel_arguments, " ")));
  if (os.booted.kernel_type != target.kernel_type && !can.kernel_types.contains(target.kernel_type))
    parts.push_back(fmt::format("kernel type {}", to_string(target.kernel_type)));
  if (!can.extensions && sorted(os.booted.extensions) != sorted(target.extensions))
    parts.push_back(fmt::format("extensions [{}]", fmt::join(target.extensions, " ")));
  return parts;
}

}  // namespace strake::osbackend
