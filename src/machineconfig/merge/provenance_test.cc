#include "machineconfig/merge/provenance.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "api/node_annotations.h"
#include "ignition/config.h"
#include "machineconfig/testing/builders.h"

namespace strake::machineconfig::provenance_test {

using builders::fragments_of;
using builders::ignition_spec;
using builders::machine_config;

std::string shown(const Provenance::Contributions* contributions) {
  if (contributions == nullptr) return "nobody";
  std::string text;
  for (const Contribution& contribution : *contributions) {
    text += fmt::format("{}: {} -> {}\n", contribution.source, fmt::join(contribution.members, " "),
                        fmt::join(contribution.in_effect, " "));
  }
  return text;
}

Provenance traced(const std::vector<kube::Object>& configs, const OsImages& defaults = {}) {
  return trace(fragments_of(configs), defaults);
}

kube::Object with_ignition(const std::string& name, std::string_view rest) {
  return machine_config(name, "worker", ignition_spec(rest));
}

TEST(Provenance, AFileCanHaveSeveralWinners) {
  const Provenance provenance = traced({
      with_ignition(
          "10", R"("storage":{"files":[{"path":"/x","mode":420,"contents":{"source":"data:,a"},"user":{"id":0}}]})"),
      with_ignition("20", R"("storage":{"files":[{"path":"/x","mode":384}]})"),
      with_ignition("30", R"("storage":{"files":[{"path":"/x","contents":{"source":"data:,b"}}]})"),
  });
  EXPECT_EQ(shown(provenance.find({SubjectKind::kFile, "/x"})),
            "10: contents.source mode user.id -> user.id\n"
            "20: mode -> mode\n"
            "30: contents.source -> contents.source\n");
}

TEST(Provenance, WhatBecameALinkIsNoFileAnyMore) {
  const Provenance provenance = traced({
      with_ignition("10", R"("storage":{"files":[{"path":"/x","mode":420}]})"),
      with_ignition("20", R"("storage":{"links":[{"path":"/x","target":"/y"}]})"),
  });
  EXPECT_EQ(shown(provenance.find({SubjectKind::kFile, "/x"})), "10: mode -> \n");
  EXPECT_EQ(shown(provenance.find({SubjectKind::kLink, "/x"})), "20: target -> target\n");
}

TEST(Provenance, UnitsDropinsUsersAndKeys) {
  const Provenance provenance = traced({
      with_ignition(
          "10",
          R"("passwd":{"users":[{"name":"core","sshAuthorizedKeys":["ssh-rsa AA me@x","ssh-rsa BB"],"passwordHash":"1"}]},"systemd":{"units":[{"name":"a.service","contents":"[Unit]\n","enabled":true,"dropins":[{"name":"10.conf","contents":"[A]\n"}]}]})"),
      with_ignition(
          "20",
          R"("passwd":{"users":[{"name":"core","sshAuthorizedKeys":["ssh-rsa AA me@x"],"passwordHash":"2","groups":["wheel"]}]},"systemd":{"units":[{"name":"a.service","enabled":false,"dropins":[{"name":"10.conf","contents":"[B]\n"}]}]})"),
  });
  EXPECT_EQ(shown(provenance.find({SubjectKind::kUnit, "a.service"})),
            "10: contents enabled -> contents\n20: enabled -> enabled\n");
  EXPECT_EQ(shown(provenance.find({SubjectKind::kDropin, "a.service/10.conf"})),
            "10: contents -> \n20: contents -> contents\n");
  EXPECT_EQ(shown(provenance.find({SubjectKind::kSshKey, "core ssh-rsa AA me@x"})),
            "10: sshAuthorizedKeys -> sshAuthorizedKeys\n20: sshAuthorizedKeys -> sshAuthorizedKeys\n");
  EXPECT_EQ(shown(provenance.find({SubjectKind::kPassword, "core"})),
            "10: passwordHash -> \n20: passwordHash -> passwordHash\n");
  EXPECT_EQ(shown(provenance.find({SubjectKind::kUser, "core"})), "20: groups[wheel] -> groups[wheel]\n");
}

TEST(Provenance, ImagesKernelAndFips) {
  auto generated = machine_config("00", "worker", R"({"osImageURL":"x","kernelType":"realtime","fips":false})");
  generated.set_annotation(api::config_annotation::kGeneratedByController, "1");
  const Provenance provenance = traced(
      {generated, machine_config("10", "worker", R"({"osImageURL":"mine","kernelType":"default","fips":true})"),
       machine_config("20", "worker", R"({"fips":false,"kernelArguments":["a","b c=1"],"extensions":["usbguard"]})"),
       machine_config("30", "worker", R"({"fips":true,"kernelArguments":["a"],"extensions":["usbguard"]})")},
      {"os", "ext", "rhel-9", "OSImageStream cluster"});
  EXPECT_EQ(shown(provenance.find({SubjectKind::kOsImage, ""})),
            "OSImageStream cluster: osImageURL -> \n00: osImageURL -> \n10: osImageURL -> osImageURL\n");
  EXPECT_EQ(shown(provenance.find({SubjectKind::kExtensionsImage, ""})),
            "OSImageStream cluster: baseOSExtensionsContainerImage -> baseOSExtensionsContainerImage\n");
  EXPECT_EQ(shown(provenance.find({SubjectKind::kKernelType, ""})),
            "00: kernelType -> kernelType\n10: kernelType -> \n");
  EXPECT_EQ(shown(provenance.find({SubjectKind::kFips, ""})),
            "00: fips -> \n10: fips -> fips\n20: fips -> \n30: fips -> fips\n");
  EXPECT_EQ(shown(provenance.find({SubjectKind::kKernelArgument, "a"})),
            "20: kernelArguments -> kernelArguments\n30: kernelArguments -> kernelArguments\n");
  EXPECT_EQ(provenance.find({SubjectKind::kExtension, "sysstat"}), nullptr);
}

TEST(Provenance, IsFoundByWhatAPersonTypes) {
  const Provenance provenance = traced(
      {with_ignition(
           "10",
           R"("passwd":{"users":[{"name":"core","shell":"/bin/sh","sshAuthorizedKeys":["ssh-rsa AAB me@x"],"passwordHash":"1"}]},"storage":{"files":[{"path":"/etc/x"},{"path":"/etc/x.d/y"}],"disks":[{"device":"/dev/sda","wipeTable":true}]},"systemd":{"units":[{"name":"a.service","contents":"[Unit]\n","dropins":[{"name":"10.conf"}]},{"name":"a.service.timer"}]})"),
       machine_config("20", "worker", R"({"kernelArguments":["nosmt","foo=1 bar=2"],"extensions":["usbguard"]})")},
      {"os", "", "", "ControllerConfig"});
  struct Case {
    const char* typed;
    std::vector<std::string> found;
  };
  const Case cases[] = {
      {"/etc/x", {"file /etc/x"}},
      {"file /etc/x", {"file /etc/x"}},
      {"a.service", {"unit a.service", "drop-in a.service/10.conf"}},
      {"a.service/10.conf", {"drop-in a.service/10.conf"}},
      {"core", {"user core", "SSH key core ssh-rsa AAB me@x", "password of core"}},
      {"me@x", {"SSH key core ssh-rsa AAB me@x"}},
      {"AAB", {"SSH key core ssh-rsa AAB me@x"}},
      {"ssh-rsa AAB me@x", {"SSH key core ssh-rsa AAB me@x"}},
      {"nosmt", {"kernel argument nosmt"}},
      {"bar", {"kernel argument foo=1 bar=2"}},
      {"foo=1", {"kernel argument foo=1 bar=2"}},
      {"ba", {}},
      {"usbguard", {"extension usbguard"}},
      {"osImageURL", {"OS image"}},
      {"storage.disks", {"Ignition section storage.disks"}},
      {"kernelArguments", {"kernel argument foo=1 bar=2", "kernel argument nosmt"}},
      {"/etc", {}},
      {"", {}},
  };
  for (const Case& test : cases) {
    std::vector<std::string> found;
    for (const Subject& subject : provenance.lookup(test.typed)) found.push_back(subject.to_string());
    EXPECT_EQ(found, test.found) << test.typed;
  }
}

// What provenance says is measured against the merge itself: removing what lost changes nothing, and what won is in the
// result with the winner's value.

/// A subject's member in a config, by the name provenance gives it: an item key in brackets, a dot between objects.
json::Value* find_member(json::Value* at, std::string_view member) {
  while (at != nullptr && !member.empty()) {
    if (member.starts_with('.')) member.remove_prefix(1);
    if (member.starts_with('[')) {
      const std::size_t close = member.find(']');
      const std::string_view key = member.substr(1, close - 1);
      json::Value* item_found = nullptr;
      for (json::Value& item : at->get_array()) {
        const bool same =
            item.is_string() ? json::as_view(item.get_string()) == key : json::find_string(item, {"name"}) == key;
        if (same) item_found = &item;
      }
      at = item_found;
      member.remove_prefix(close + 1);
      continue;
    }
    const std::size_t end = std::min(member.find_first_of(".["), member.size());
    at = json::find(*at, {member.substr(0, end)});
    member.remove_prefix(end);
  }
  return at;
}

json::Value* find_item(json::Value& config, std::initializer_list<std::string_view> list, std::string_view key,
                       std::string_view name) {
  json::Value* items = json::find(config, list);
  if (items == nullptr) return nullptr;
  for (json::Value& item : items->get_array()) {
    if (json::find_string(item, {key}) == name) return &item;
  }
  return nullptr;
}

json::Value* find_subject(json::Value& config, const Subject& subject) {
  switch (subject.kind) {
    case SubjectKind::kFile: return find_item(config, {"storage", "files"}, "path", subject.name);
    case SubjectKind::kDirectory: return find_item(config, {"storage", "directories"}, "path", subject.name);
    case SubjectKind::kLink: return find_item(config, {"storage", "links"}, "path", subject.name);
    case SubjectKind::kUnit: return find_item(config, {"systemd", "units"}, "name", subject.name);
    case SubjectKind::kUser:
    case SubjectKind::kPassword: return find_item(config, {"passwd", "users"}, "name", subject.name);
    case SubjectKind::kDropin: {
      const std::size_t slash = subject.name.find('/');
      json::Value* unit = find_item(config, {"systemd", "units"}, "name", subject.name.substr(0, slash));
      return unit == nullptr ? nullptr : find_item(*unit, {"dropins"}, "name", subject.name.substr(slash + 1));
    }
    case SubjectKind::kSshKey: return find_item(config, {"passwd", "users"}, "name", subject.name.substr(0, 1));
    default: return nullptr;
  }
}

/// Every value names the fragment, so that no two fragments say the same by chance.
Fragment any_fragment(int number) {
  const auto maybe = [] { return *rc::gen::arbitrary<bool>(); };
  const auto letter = [] { return *rc::gen::element<std::string>("a", "b"); };
  const std::string own = fmt::format("{}", number);
  json::Value config = builders::from_text(R"({"ignition":{"version":"3.5.0"}})");
  std::set<std::string> paths;
  for (int left = *rc::gen::inRange(0, 4); left > 0; --left) {
    const std::string path = "/" + letter();
    if (!paths.insert(path).second) continue;
    const auto list = *rc::gen::element<std::string>("files", "files", "directories", "links");
    json::Object node{{"path", path}};
    if (maybe()) node["user"] = json::Object{{"name", own}};
    if (maybe()) node["group"] = json::Object{{"id", number}};
    if (list == "links") node["target"] = own;
    if (list != "links" && maybe()) node["mode"] = number;
    if (list == "files") {
      json::Object contents;
      if (maybe()) contents["source"] = own;
      if (maybe()) contents["compression"] = *rc::gen::element<std::string>("", "gzip");
      if (maybe()) {
        json::Object header{{"name", letter()}};
        if (maybe()) header["value"] = own;
        contents["httpHeaders"] = json::Array{header};
      }
      if (!contents.empty()) node["contents"] = contents;
      if (maybe()) node["append"] = json::Array{json::Object{{"source", own}}};
    }
    json::Value& items = json::ensure(config, {"storage", list});
    if (!items.is_array()) items = json::Array{};
    items.get_array().push_back(std::move(node));
  }
  if (maybe()) {
    json::Object unit{{"name", letter() + ".service"}};
    if (maybe()) unit["contents"] = own;
    if (maybe()) unit["enabled"] = maybe();
    if (maybe()) {
      json::Object dropin{{"name", letter() + ".conf"}};
      if (maybe()) dropin["contents"] = own;
      unit["dropins"] = json::Array{dropin};
    }
    json::ensure(config, {"systemd", "units"}) = json::Array{unit};
  }
  if (maybe()) {
    json::Object user{{"name", letter()}, {"sshAuthorizedKeys", json::Array{letter()}}};
    if (maybe()) user["passwordHash"] = own;
    if (maybe()) user["shell"] = own;
    json::ensure(config, {"passwd", "users"}) = json::Array{user};
  }
  Fragment fragment;
  fragment.name = own;
  if (*rc::gen::inRange(0, 5) > 0) fragment.ignition = std::move(config);
  fragment.generated = maybe();
  if (maybe()) fragment.os_image = own;
  if (maybe()) fragment.fips = maybe();
  fragment.kernel_type = *rc::gen::element<std::string>("", "default", "realtime", "64k-pages");
  return fragment;
}

std::string merged_text(std::vector<Fragment> fragments) {
  return json::write_canonical(*merge_specs(std::move(fragments), {"os", "ext"}));
}

/// The config without one member of one subject; objects left empty go with it.
void remove_member(json::Value& config, const Subject& subject, const std::string& member) {
  json::Value* item = find_subject(config, subject);
  const std::size_t dot = member.rfind('.');
  json::Value* around = dot == std::string::npos ? item : find_member(item, member.substr(0, dot));
  around->get_object().erase(member.substr(dot == std::string::npos ? 0 : dot + 1));
  ignition::normalise(config);
}

TEST(Provenance, SaysWhatTheMergeDoes) {
  EXPECT_TRUE(rc::check([] {
    std::vector<Fragment> fragments;
    for (int i = 0, count = *rc::gen::inRange(1, 6); i < count; ++i) fragments.push_back(any_fragment(i));
    json::Value spec = *merge_specs(fragments, {"os", "ext"});
    json::Value& merged = *json::find(spec, {"config"});
    const Provenance provenance = trace(fragments, {"os", "ext", "", "default"});
    for (const auto& [subject, contributions] : provenance.subjects()) {
      for (const Contribution& contribution : contributions) {
        if (subject.kind == SubjectKind::kOsImage && contribution.wins()) {
          RC_ASSERT(json::find_string(spec, {"osImageURL"}) ==
                    (contribution.source == "default" ? "os" : contribution.source));
        }
        if (contribution.source == "default") continue;
        Fragment& fragment = fragments[static_cast<std::size_t>(std::stoi(contribution.source))];
        if (subject.kind == SubjectKind::kKernelType && contribution.wins()) {
          RC_ASSERT(json::find_string(spec, {"kernelType"}) == fragment.kernel_type);
        }
        if (subject.kind == SubjectKind::kFips) {
          RC_ASSERT(contribution.wins() == (json::find_bool(spec, {"fips"}) == fragment.fips));
        }
        if (!fragment.ignition || find_subject(*fragment.ignition, subject) == nullptr) continue;
        for (const std::string& member : contribution.members) {
          const json::Value* own = find_member(find_subject(*fragment.ignition, subject), member);
          RC_ASSERT(own != nullptr);
          const bool wins = std::ranges::find(contribution.in_effect, member) != contribution.in_effect.end();
          if (wins) {
            const json::Value* result = find_member(find_subject(merged, subject), member);
            RC_ASSERT(result != nullptr);
            if (member == "append") {
              const json::Array& all = result->get_array();
              RC_ASSERT(std::ranges::find(all, own->get_array().front()) != all.end());
            } else if (own->is_string() || own->is_number() || own->is_bool()) {
              RC_ASSERT(*result == *own);
            }
          } else if (!member.ends_with(']') && member.find("httpHeaders") == std::string::npos && member != "path") {
            std::vector<Fragment> without = fragments;
            remove_member(*without[static_cast<std::size_t>(std::stoi(contribution.source))].ignition, subject, member);
            RC_ASSERT(merged_text(std::move(without)) == merged_text(fragments));
          }
        }
      }
    }
  }));
}

/// Nothing of the result is without a winner, but for the default of `overwrite`.
TEST(Provenance, LeavesNothingUnexplained) {
  EXPECT_TRUE(rc::check([] {
    std::vector<Fragment> fragments;
    for (int i = 0, count = *rc::gen::inRange(1, 6); i < count; ++i) fragments.push_back(any_fragment(i));
    const Provenance provenance = trace(fragments, {});
    json::Value spec = *merge_specs(fragments, {});
    const auto wins = [&](const Subject& subject, std::string_view member) {
      const auto* contributions = provenance.find(subject);
      return contributions != nullptr && std::ranges::any_of(*contributions, [&](const Contribution& contribution) {
               return std::ranges::find(contribution.in_effect, member) != contribution.in_effect.end();
             });
    };
    json::Value& merged = *json::find(spec, {"config"});
    for (const auto& [list, kind] :
         {std::pair("files", SubjectKind::kFile), std::pair("directories", SubjectKind::kDirectory),
          std::pair("links", SubjectKind::kLink)}) {
      const json::Value* items = json::find(merged, {"storage", list});
      if (items == nullptr) continue;
      for (const json::Value& item : items->get_array()) {
        const Subject subject{kind, *json::find_string(item, {"path"})};
        RC_ASSERT(provenance.find(subject) != nullptr);
        for (const auto& [name, value] : item.get_object()) {
          if (name == "path" || (name == "overwrite" && kind == SubjectKind::kFile)) continue;
          if (!value.is_object()) {
            RC_ASSERT(wins(subject, name));
            continue;
          }
          for (const auto& [inner, inner_value] : value.get_object()) {
            if (inner == "httpHeaders") {
              for (const json::Value& header : inner_value.get_array()) {
                const std::string prefix =
                    fmt::format("contents.httpHeaders[{}]", *json::find_string(header, {"name"}));
                RC_ASSERT(wins(subject, json::find(header, {"value"}) == nullptr ? prefix : prefix + ".value"));
              }
              continue;
            }
            RC_ASSERT(wins(subject, std::string(name) + "." + std::string(inner)));
          }
        }
      }
    }
  }));
}

}  // namespace strake::machineconfig::provenance_test
