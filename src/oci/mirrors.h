// Where an image may be fetched from instead: registries.conf and the cluster's mirror sets, as one pure lookup.
//
// Rules are those of the container tools on a node: the longest prefix that covers the repository decides; its mirrors
// are tried in order, then the source itself unless it is blocked. A mirror may serve references by digest only, by tag
// only, or both. Place by place the reference keeps its tag and digest; only the registry and the leading part of the
// repository change.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"
#include "oci/reference.h"

namespace strake::oci {

inline constexpr std::size_t kMaxMirrorRules = 10'000;
inline constexpr std::size_t kMaxMirrorsOfRule = 100;

enum class MirrorUse { kAll, kDigestOnly, kTagOnly };

std::string_view to_string(MirrorUse use);
Result<MirrorUse> parse_mirror_use(std::string_view text);

struct Mirror {
  std::string location;  ///< host[:port][/path]
  bool insecure = false;
  MirrorUse use = MirrorUse::kAll;

  bool operator==(const Mirror&) const = default;
};

struct RegistryRule {
  std::string prefix;    ///< host[:port][/path], or "*.domain"
  std::string location;  ///< what takes the prefix's place; empty: nothing changes
  bool insecure = false;
  bool blocked = false;
  std::vector<Mirror> mirrors;

  bool operator==(const RegistryRule&) const = default;
};

struct MirrorRules {
  std::vector<RegistryRule> rules;  ///< at most one a prefix

  /// Adds the rules of a later file: a rule of the same prefix is replaced, as drop-in files do.
  void override_with(MirrorRules later);
};

/// registries.conf, version 2; what has nothing to do with mirrors is left alone.
Result<MirrorRules> parse_registries_conf(std::string_view toml);

/// The main file and then the *.conf files of a folder in the order of their names; what is absent is fine.
Result<MirrorRules> load_registries_conf(const std::filesystem::path& file, const std::filesystem::path& drop_ins);
/// $CONTAINERS_REGISTRIES_CONF, else the user's file, else /etc/containers/registries.conf; and registries.conf.d.
Result<MirrorRules> load_registries_conf_of_process();

/// Whether an object is one of the three kinds below.
bool is_mirror_set(const json::Value& object);

/// Rules from ImageDigestMirrorSet, ImageTagMirrorSet and ImageContentSourcePolicy objects, merged by source: mirrors
/// in the order they are named, each once. Two policies for one source are an error, as nobody could tell what is
/// meant.
Result<MirrorRules> rules_from_mirror_sets(const std::vector<json::Value>& objects);

/// A place to ask, and under which name.
struct Place {
  Reference reference;
  bool insecure = false;
  bool is_mirror = false;

  bool operator==(const Place&) const = default;
};

/// The places to try, in order; kDenied when the rules leave none.
Result<std::vector<Place>> places_to_try(const MirrorRules& rules, const Reference& reference);

}  // namespace strake::oci
