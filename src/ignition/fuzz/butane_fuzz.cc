// Any bytes are read without harm; what is translated is a config that Ignition takes, and translating is repeatable.
#include <cstdint>
#include <string_view>

#include "codec/yaml_node.h"
#include "ignition/butane/butane.h"
#include "ignition/config.h"

namespace {

using namespace strake;

class FewFiles final : public ignition::LocalFiles {
 public:
  Result<std::string> read(const std::string& path) override {
    STRAKE_INVARIANT(!path.starts_with('/') && !path.starts_with("..") && path.find("/../") == std::string::npos);
    if (path.size() % 3 == 0) return error(Code::kNotFound, "no such file");
    return std::string(path.size() * 40, 'x');
  }
  Result<std::vector<ignition::LocalEntry>> walk(const std::string& path) override {
    STRAKE_INVARIANT(!path.starts_with('/') && !path.starts_with("..") && path.find("/../") == std::string::npos);
    std::vector<ignition::LocalEntry> entries(2);
    entries[0].path = "etc/a";
    entries[0].contents = path;
    entries[1].path = "etc/b";
    entries[1].kind = ignition::LocalEntry::Kind::kLink;
    entries[1].contents = "a";
    return entries;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto documents = yaml::parse_nodes(text, {.max_bytes = 1u << 16, .max_depth = 50, .max_nodes = 5000});
  if (!documents.ok()) return 0;
  FewFiles files;
  for (const yaml::Node& document : *documents) {
    for (const bool has_files : {false, true}) {
      const ignition::ButaneOptions options{.files = has_files ? &files : nullptr, .role_label = "role"};
      const ignition::ButaneResult result = ignition::translate_butane(document, options);
      if (result.report.is_fatal()) {
        STRAKE_INVARIANT(result.config.is_null() && !result.is_machine_config());
        continue;
      }
      const ignition::Checked checked = ignition::check(result.config);
      STRAKE_INVARIANT(!checked.report.is_fatal() && checked.version == result.spec);
      STRAKE_INVARIANT(ignition::translate_butane(document, options).config == result.config);
    }
  }
  return 0;
}
