#include "machineconfig/merge/provenance.h"

#include <algorithm>
#include <set>

#include "ignition/schema.h"
#include "machineconfig/merge/select.h"

namespace strake::machineconfig {

namespace {

using ignition::item_key;
using ignition::Member;
using ignition::MemberType;
using ignition::StructSchema;

/// Who set one member of a subject.
struct MemberTrace {
  std::set<std::size_t> setters;    ///< positions of fragments
  std::set<std::size_t> in_effect;  ///< of the setters
};

using MemberTraces = std::map<std::string, MemberTrace>;

/// Walks from the bottom up and keeps, for every member, who set it and whose value stands.
class Tracer {
 public:
  void add_defaults(const OsImages& images) {
    sources_.push_back(images.source);
    if (!images.os_image.empty()) replace(kOsImage, "osImageURL");
    if (!images.extensions_image.empty()) replace(kExtensionsImage, "baseOSExtensionsContainerImage");
  }

  void add_fragment(const Fragment& fragment) {
    sources_.push_back(fragment.name);
    for (const std::string& argument : fragment.kernel_arguments) {
      share({SubjectKind::kKernelArgument, argument}, "kernelArguments");
    }
    for (const std::string& extension : fragment.extensions) {
      share({SubjectKind::kExtension, extension}, "extensions");
    }
    add_kernel_type(fragment.kernel_type);
    if (fragment.fips) add_fips(*fragment.fips);
    add_image(kOsImage, "osImageURL", fragment.os_image, fragment.generated);
    add_image(kExtensionsImage, "baseOSExtensionsContainerImage", fragment.extensions_image, fragment.generated);
    if (fragment.ignition) add_ignition(*fragment.ignition);
  }

  Provenance finish() && {
    if (ignition_layers_ > 1) drop_empty_compression();
    std::map<Subject, Provenance::Contributions> result;
    for (const auto& [subject, members] : subjects_) {
      std::map<std::size_t, Contribution> by_position;
      for (const auto& [member, trace] : members) {
        for (const std::size_t position : trace.setters) {
          Contribution& contribution = by_position[position];
          contribution.members.push_back(member);
          if (trace.in_effect.contains(position)) contribution.in_effect.push_back(member);
        }
      }
      Provenance::Contributions& contributions = result[subject];
      for (auto& [position, contribution] : by_position) {
        contribution.source = sources_[position];
        contributions.push_back(std::move(contribution));
      }
    }
    return Provenance(std::move(result));
  }

 private:
  static constexpr const char* kCompression = "contents.compression";
  const Subject kOsImage{SubjectKind::kOsImage, ""};
  const Subject kExtensionsImage{SubjectKind::kExtensionsImage, ""};

  std::size_t position() const { return sources_.size() - 1; }
  bool is_first_fragment() const { return sources_.size() == 2; }

  /// The value of the fragment at hand stands, and no other's.
  void replace(const Subject& subject, const std::string& member) {
    MemberTrace& trace = subjects_[subject][member];
    trace.setters.insert(position());
    trace.in_effect = {position()};
  }

  /// The fragment at hand says it too.
  void share(const Subject& subject, const std::string& member) {
    MemberTrace& trace = subjects_[subject][member];
    trace.setters.insert(position());
    trace.in_effect.insert(position());
  }

  void note(const Subject& subject, const std::string& member) {
    subjects_[subject][member].setters.insert(position());
  }

  void drop(const Subject& subject) {
    const auto known = subjects_.find(subject);
    if (known == subjects_.end()) return;
    for (auto& [member, trace] : known->second) trace.in_effect.clear();
  }

  /// Takes the effect of all members that begin like this; whether there was any.
  bool drop_members(const Subject& subject, const std::string& prefix) {
    MemberTraces& members = subjects_[subject];
    bool any = false;
    for (auto member = members.lower_bound(prefix); member != members.end() && member->first.starts_with(prefix);
         ++member) {
      any = any || !member->second.in_effect.empty();
      member->second.in_effect.clear();
    }
    return any;
  }

  /// A later `default` does not take another type back.
  void add_kernel_type(const std::string& type) {
    if (type.empty()) return;
    const Subject subject{SubjectKind::kKernelType, ""};
    if (type == kDefaultKernelType && special_kernel_) return note(subject, "kernelType");
    replace(subject, "kernelType");
    special_kernel_ = type != kDefaultKernelType;
  }

  /// One that switches it on is enough.
  void add_fips(bool fips) {
    const Subject subject{SubjectKind::kFips, ""};
    if (fips && !fips_) drop(subject);
    if (fips_ && !fips) return note(subject, "fips");
    fips_ = fips_ || fips;
    share(subject, "fips");
  }

  void add_image(const Subject& subject, const std::string& member, const std::string& image, bool generated) {
    if (image.empty()) return;
    if (generated) return note(subject, member);
    replace(subject, member);
  }

  void add_ignition(const json::Value& config) {
    // The merge lays everything over the first MachineConfig, also when that has no config.
    ignition_layers_ += ignition_layers_ == 0 && !is_first_fragment() ? 2 : 1;
    for (const Member& section : ignition::config_schema().members) {
      const json::Value* value = json::find(config, {section.name});
      if (value == nullptr) continue;
      const json::Object& object = value->get_object();
      if (section.name == "storage") {
        add_storage(object, *section.element);
      } else if (section.name == "systemd") {
        add_units(object, *section.element);
      } else if (section.name == "passwd") {
        add_passwd(object, *section.element);
      } else if (section.name == "kernelArguments") {
        add_object({SubjectKind::kIgnitionSection, std::string(section.name)}, object, *section.element, "");
      } else {
        add_sections(object, *section.element, section.name);
      }
    }
  }

  /// What only a first boot applies; the version says nothing about the machine.
  void add_sections(const json::Object& object, const StructSchema& schema, std::string_view around) {
    for (const auto& [name, value] : object) {
      const Member& member = *schema.find(name);
      if (member.type == MemberType::kString) continue;
      add_member({SubjectKind::kIgnitionSection, fmt::format("{}.{}", around, member.name)}, value, member, schema, "");
    }
  }

  void add_storage(const json::Object& storage, const StructSchema& schema) {
    for (const auto& [name, list] : storage) {
      const Member& member = *schema.find(name);
      const auto kind = node_kind(member.name);
      if (!kind) {
        add_member({SubjectKind::kIgnitionSection, fmt::format("storage.{}", member.name)}, list, member, schema, "");
        continue;
      }
      for (const json::Value& item : list.get_array()) {
        const Subject subject{*kind, item_key(item, member.element)};
        for (const SubjectKind other : {SubjectKind::kFile, SubjectKind::kDirectory, SubjectKind::kLink}) {
          if (other != *kind) drop({other, subject.name});
        }
        if (*kind == SubjectKind::kFile) add_compression(subject, item);
        add_item(subject, item.get_object(), *member.element);
      }
    }
  }

  static std::optional<SubjectKind> node_kind(std::string_view list) {
    if (list == "files") return SubjectKind::kFile;
    if (list == "directories") return SubjectKind::kDirectory;
    if (list == "links") return SubjectKind::kLink;
    return std::nullopt;
  }

  /// A file of an upper layer that names no compression has none, whatever was below.
  void add_compression(const Subject& file, const json::Value& item) {
    const auto own = json::find_string(item, {"contents", "compression"});
    if (!own && !is_first_fragment()) drop_members(file, kCompression);
    if (own == "") empty_compression_.insert({file.name, position()});
  }

  void drop_empty_compression() {
    for (const auto& [path, position] : empty_compression_) {
      subjects_[{SubjectKind::kFile, path}][kCompression].in_effect.erase(position);
    }
  }

  void add_units(const json::Object& systemd, const StructSchema& schema) {
    const json::Value* units = systemd.if_contains("units");
    if (units == nullptr) return;
    const StructSchema& unit_schema = *schema.find("units")->element;
    for (const json::Value& item : units->get_array()) {
      json::Object unit = item.get_object();
      const std::string name = item_key(item, &unit_schema);
      if (const json::Value* dropins = unit.if_contains("dropins"); dropins != nullptr) {
        const StructSchema& dropin_schema = *unit_schema.find("dropins")->element;
        for (const json::Value& dropin : dropins->get_array()) {
          const Subject subject{SubjectKind::kDropin, fmt::format("{}/{}", name, item_key(dropin, &dropin_schema))};
          add_item(subject, dropin.get_object(), dropin_schema);
        }
        unit.erase("dropins");
        if (unit.size() == 1) continue;
      }
      add_item({SubjectKind::kUnit, name}, unit, unit_schema);
    }
  }

  void add_passwd(const json::Object& passwd, const StructSchema& schema) {
    if (const json::Value* groups = passwd.if_contains("groups"); groups != nullptr) {
      const StructSchema& group_schema = *schema.find("groups")->element;
      for (const json::Value& group : groups->get_array()) {
        add_item({SubjectKind::kGroup, item_key(group, &group_schema)}, group.get_object(), group_schema);
      }
    }
    const json::Value* users = passwd.if_contains("users");
    if (users == nullptr) return;
    const StructSchema& user_schema = *schema.find("users")->element;
    for (const json::Value& item : users->get_array()) {
      json::Object user = item.get_object();
      const std::string name = item_key(item, &user_schema);
      if (const json::Value* keys = user.if_contains("sshAuthorizedKeys"); keys != nullptr) {
        for (const json::Value& key : keys->get_array()) {
          share({SubjectKind::kSshKey, fmt::format("{} {}", name, item_key(key, nullptr))}, "sshAuthorizedKeys");
        }
        user.erase("sshAuthorizedKeys");
      }
      if (user.contains("passwordHash")) {
        replace({SubjectKind::kPassword, name}, "passwordHash");
        user.erase("passwordHash");
      }
      if (user.size() == 1 && item.get_object().size() > 1) continue;
      add_item({SubjectKind::kUser, name}, user, user_schema);
    }
  }

  /// An item that is a subject of its own. One that says nothing but its name still makes the subject be.
  void add_item(const Subject& subject, const json::Object& item, const StructSchema& schema) {
    if (item.size() == 1) share(subject, std::string(schema.key));
    add_object(subject, item, schema, "", schema.key);
  }

  /// `key` is the member that only tells an item of a list from others.
  void add_object(const Subject& subject, const json::Object& object, const StructSchema& schema,
                  const std::string& prefix, std::string_view key = {}) {
    for (const auto& [name, value] : object) {
      const Member& member = *schema.find(name);
      if (member.name != key) add_member(subject, value, member, schema, prefix);
    }
  }

  void add_member(const Subject& subject, const json::Value& value, const Member& member, const StructSchema& around,
                  const std::string& prefix) {
    const std::string name = prefix + std::string(member.name);
    switch (member.type) {
      case MemberType::kString:
      case MemberType::kInteger:
      case MemberType::kBool: return replace(subject, name);
      case MemberType::kObject: return add_object(subject, value.get_object(), *member.element, name + ".");
      case MemberType::kStringList:
      case MemberType::kObjectList: break;
    }
    if (member.list_merge == ignition::ListMerge::kConcatenate) return share(subject, name);
    for (const json::Value& item : value.get_array()) {
      const std::string key = item_key(item, member.element);
      drop_from_group(subject, key, member, around, prefix);
      const std::string item_name = fmt::format("{}[{}]", name, key);
      if (member.element == nullptr) {
        share(subject, item_name);
        continue;
      }
      const bool removes = member.name == "httpHeaders" && !item.get_object().contains("value");
      if (removes && drop_members(subject, item_name)) continue;
      if (item.get_object().size() == 1) share(subject, item_name);
      add_object(subject, item.get_object(), *member.element, item_name + ".", member.element->key);
    }
  }

  /// Lists that share their keys: what is in this one now is in no other.
  void drop_from_group(const Subject& subject, const std::string& key, const Member& member, const StructSchema& around,
                       const std::string& prefix) {
    if (member.key_group.empty()) return;
    for (const Member& other : around.members) {
      if (other.key_group != member.key_group || other.name == member.name) continue;
      drop_members(subject, fmt::format("{}{}[{}]", prefix, other.name, key));
    }
  }

  std::vector<std::string> sources_;  ///< the defaults, then every fragment so far
  int ignition_layers_ = 0;
  bool special_kernel_ = false;
  bool fips_ = false;
  std::map<Subject, MemberTraces> subjects_;
  std::set<std::pair<std::string, std::size_t>> empty_compression_;  ///< files whose compression a fragment says is ""
};

/// Kernel arguments may stand several in one item; a value may be in double quotes.
bool has_kernel_argument(std::string_view item, std::string_view typed) {
  for (std::size_t at = item.find(typed); at != std::string_view::npos; at = item.find(typed, at + 1)) {
    const bool begins = at == 0 || item[at - 1] == ' ';
    const std::size_t end = at + typed.size();
    if (begins && (end == item.size() || item[end] == ' ' || item[end] == '=')) return true;
  }
  return false;
}

/// "core ssh-ed25519 AAAA jane@example": everything but the user, the key itself, or the comment.
bool names_ssh_key(std::string_view name, std::string_view typed) {
  const std::size_t user_end = name.find(' ');
  if (user_end == std::string_view::npos) return false;
  const std::string_view key = name.substr(user_end + 1);
  if (key == typed) return true;
  for (std::size_t start = 0; start < key.size();) {
    const std::size_t end = std::min(key.find(' ', start), key.size());
    if (start > 0 && key.substr(start, end - start) == typed) return true;
    start = end + 1;
  }
  return false;
}

bool means(std::string_view typed, const Subject& subject) {
  const std::string_view name = subject.name;
  switch (subject.kind) {
    case SubjectKind::kOsImage: return typed == "osImageURL";
    case SubjectKind::kExtensionsImage: return typed == "baseOSExtensionsContainerImage";
    case SubjectKind::kKernelType: return typed == "kernelType";
    case SubjectKind::kFips: return typed == "fips";
    case SubjectKind::kKernelArgument: return typed == "kernelArguments" || has_kernel_argument(name, typed);
    case SubjectKind::kExtension: return typed == "extensions" || name == typed;
    case SubjectKind::kDropin:
      return name == typed || (name.starts_with(typed) && name.substr(typed.size()).starts_with('/'));
    case SubjectKind::kSshKey:
      return (name.starts_with(typed) && name.substr(typed.size()).starts_with(' ')) || names_ssh_key(name, typed);
    case SubjectKind::kFile:
    case SubjectKind::kDirectory:
    case SubjectKind::kLink:
    case SubjectKind::kUnit:
    case SubjectKind::kUser:
    case SubjectKind::kPassword:
    case SubjectKind::kGroup:
    case SubjectKind::kIgnitionSection: return name == typed;
  }
  return false;
}

}  // namespace

const Provenance::Contributions* Provenance::find(const Subject& subject) const {
  const auto found = subjects_.find(subject);
  return found == subjects_.end() ? nullptr : &found->second;
}

std::vector<Subject> Provenance::lookup(std::string_view typed) const {
  std::vector<Subject> meant;
  if (typed.empty()) return meant;
  for (const auto& [subject, contributions] : subjects_) {
    if (means(typed, subject) || subject.to_string() == typed) meant.push_back(subject);
  }
  return meant;
}

Provenance trace(const std::vector<Fragment>& fragments, const OsImages& defaults) {
  Tracer tracer;
  tracer.add_defaults(defaults);
  for (const Fragment& fragment : fragments) tracer.add_fragment(fragment);
  return std::move(tracer).finish();
}

Result<Provenance> trace_pool(const RenderInput& input) {
  STRAKE_TRY(const auto selected, select_configs(*input.pool, input.configs));
  STRAKE_TRY(const OsImages defaults, default_images(input));
  STRAKE_TRY(const std::vector<Fragment> fragments, read_fragments(selected));
  return trace(fragments, defaults);
}

}  // namespace strake::machineconfig
