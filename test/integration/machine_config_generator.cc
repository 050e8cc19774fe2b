#include "integration/machine_config_generator.h"

#include <fmt/format.h>

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "codec/compress.h"
#include "codec/data_url.h"
#include "codec/utf8.h"
#include "ignition/config.h"

namespace strake::test {

namespace {

/// What a YAML 1.1 reader would not take for text, almost would not, or must not see without quotes.
constexpr std::string_view kLookalikes[] = {
    "",
    "~",
    "null",
    "Null",
    "NULL",
    "y",
    "Y",
    "yes",
    "Yes",
    "n",
    "N",
    "no",
    "on",
    "Off",
    "true",
    "True",
    "TRUE",
    "false",
    "tRue",
    "1",
    "-1",
    "+1",
    "0",
    "00",
    "017",
    "08",
    "0o17",
    "0o8",
    "0x1F",
    "0b101",
    "0b-1",
    "1_000",
    "1_",
    "_1",
    "1e3",
    "1e400",
    "1.",
    ".5",
    "-.5",
    ".5e3",
    "1.2.3",
    ".inf",
    "-.INF",
    ".nan",
    "inf",
    "NaN",
    "12:30:45",
    "1:2",
    "1:60",
    "190:20.5",
    "2001-1-1",
    "2001-13-1",
    "2001-01-01T00:00:00Z",
    "2001-01-01 00:00:00",
    "2001-01-01t00:00:00z",
    "=",
    "<<",
    "x:y",
    ":x",
    "?x",
    "--",
    "-",
    "?",
    ":",
    "- x",
    "? x",
    ": x",
    "x: y",
    "x:",
    "#x",
    "x #y",
    "a#b",
    "'q'",
    "\"q\"",
    "k=\"a b\"",
    "@at",
    "%pct",
    "!tag",
    "&anc",
    "*ali",
    "{x}",
    "[x]",
    "}",
    "]",
    ",",
    "|",
    ">",
    "`x`",
    " lead",
    "trail ",
    "a\nb",
    "a\n",
    "a\n\n",
    "\n",
    "\n\n",
    "\na",
    " a\nb",
    "a \nb",
    "a\n b",
    "a\tb",
    "\t",
    "a\r\nb",
    "---",
    "...",
    "--- x",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "9223372036854775808",
    "0.1",
    "1e-7",
    "123456789",
    "nosmt",
    "rd.break",
    "<a>&b",
    "\\n",
    "a\\",
    "\"",
};

constexpr char32_t kOddCharacters[] = {
    U'\0', 1,    7,    8,    9,    10,    11,     12,     13,     27,     31,     U' ',   U'"',   U'\'',   U'\\',
    U'#',  U':', U'-', 0xA0, 0xE9, 0x100, 0x2028, 0x2029, 0x3042, 0xD7FF, 0xE000, 0xFEFF, 0xFFFD, 0x1F600, 0x10FFFF};
/// Those that the reader of the round trip refuses, and the one it turns into a blank.
constexpr char32_t kRefusedCharacters[] = {0x7F, 0x80, 0x85, 0x9F, 0xFFFE, 0xFFFF};

}  // namespace

bool MachineConfigGenerator::chance(double probability) {
  return std::uniform_real_distribution<double>(0, 1)(random_) < probability;
}

std::size_t MachineConfigGenerator::below(std::size_t bound) {
  return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
}

/// Long enough to be folded; now and then with more than one blank between words.
std::string MachineConfigGenerator::words() {
  std::string text;
  for (std::size_t left = 1 + below(40); left > 0; --left) {
    text += std::string(1 + below(14), static_cast<char>('a' + below(26)));
    if (chance(0.02)) text += "\"";
    if (chance(0.02)) text += ":";
    text += std::string(chance(0.1) ? 2 + below(3) : 1, ' ');
    if (chance(0.03)) text += "\n";
    if (chance(0.02)) text += "\t";
  }
  if (chance(0.8)) text.erase(text.find_last_not_of(" \n\t") + 1);
  return text;
}

std::string MachineConfigGenerator::characters() {
  std::string text;
  for (std::size_t left = below(chance(0.2) ? 200 : 12); left > 0; --left) {
    if (chance(0.003)) {
      codec::append_utf8(text, kRefusedCharacters[below(std::size(kRefusedCharacters))]);
    } else if (chance(0.3)) {
      codec::append_utf8(text, kOddCharacters[below(std::size(kOddCharacters))]);
    } else {
      text += static_cast<char>(' ' + below(95));
    }
  }
  return text;
}

std::string MachineConfigGenerator::text() {
  switch (below(4)) {
    case 0: return std::string(kLookalikes[below(std::size(kLookalikes))]);
    case 1: return words();
    case 2: return characters();
    default: {
      std::string text = std::string(kLookalikes[below(std::size(kLookalikes))]);
      text += chance(0.5) ? words() : characters();
      return text;
    }
  }
}

json::Value MachineConfigGenerator::value(int depth) {
  const std::size_t kind = below(depth > 0 ? 8 : 6);
  switch (kind) {
    case 0: return nullptr;
    case 1: return chance(0.5);
    case 2: return static_cast<std::int64_t>(random_());
    case 3: {
      const double numbers[] = {0.5, 1e300, 1e-5, 123456.75, -2.5e-7, 1.5e21, 1234567.5};
      return numbers[below(std::size(numbers))];
    }
    case 6: {
      json::Array items;
      for (std::size_t left = below(4); left > 0; --left) items.push_back(value(depth - 1));
      return items;
    }
    case 7: {
      json::Object members;
      for (std::size_t left = below(5); left > 0; --left) {
        // Digits only behind one letter: the order of keys goes in circles otherwise, and no two sorts agree.
        std::string key = text();
        std::erase_if(key, [](char c) { return c >= '0' && c <= '9'; });
        if (chance(0.5)) key = fmt::format("{}{}", chance(0.5) ? "a" : "b", below(120));
        members[key] = value(depth - 1);
      }
      return members;
    }
    default: return json::Value(text());
  }
}

/// Puts odd texts where a config takes any, and real gzip data where one says so: what does not unpack is refused here
/// and not by the platform.
void MachineConfigGenerator::decorate(json::Value& config) {
  if (json::Value* files = json::find(config, {"storage", "files"}); files != nullptr && files->is_array()) {
    for (json::Value& file : files->get_array()) {
      if (json::find_string(file, {"contents", "compression"}) != "gzip") continue;
      file.get_object()["contents"].get_object()["source"] =
          codec::encode_base64_data_url(codec::gzip(fmt::format("{}", below(5))));
    }
  }
  if (json::Value* users = json::find(config, {"passwd", "users"}); users != nullptr && users->is_array()) {
    for (json::Value& user : users->get_array()) {
      if (user.is_object() && chance(0.3)) user.get_object()["gecos"] = text();
      if (user.is_object() && chance(0.3)) user.get_object()["sshAuthorizedKeys"] = json::Array{"k1", text(), "k2"};
    }
  }
  if (json::Value* units = json::find(config, {"systemd", "units"}); units != nullptr && units->is_array()) {
    for (json::Value& unit : units->get_array()) {
      if (unit.is_object() && chance(0.4)) unit.get_object()["contents"] = "[Service]\nExecStart=" + words();
    }
  }
}

/// Mostly valid ones: a set of several is worth nothing when one of them is refused.
json::Value MachineConfigGenerator::ignition_config() {
  for (const bool any = chance(0.02);;) {
    json::Value config = ignition_.config({3, static_cast<int>(below(6))});
    if (config.is_object()) decorate(config);
    if (any || ignition::parse(config).ok()) return config;
  }
}

json::Value MachineConfigGenerator::spec() {
  constexpr std::string_view kTypes[] = {"", "", "default", "realtime", "64k-pages"};
  constexpr std::string_view kNames[] = {"usbguard", "sysstat", "kerberos", "ipsec"};
  json::Object spec;
  if (chance(0.85)) spec["config"] = ignition_config();
  if (chance(0.05)) spec["config"] = nullptr;
  if (chance(0.2)) spec["osImageURL"] = text();
  if (chance(0.2)) spec["baseOSExtensionsContainerImage"] = text();
  if (chance(0.3)) spec["kernelType"] = kTypes[below(std::size(kTypes))];
  if (chance(0.2)) spec["fips"] = chance(0.5);
  if (chance(0.4)) {
    json::Array arguments;
    for (std::size_t left = below(6); left > 0; --left) arguments.emplace_back(text());
    spec["kernelArguments"] = std::move(arguments);
  }
  if (chance(0.2)) spec["extensions"] = json::Array{kNames[below(std::size(kNames))]};
  if (chance(0.01)) spec["extensions"] = json::Array{"kernel-devel"};
  return spec;
}

std::vector<kube::Object> MachineConfigGenerator::configs() {
  std::vector<kube::Object> configs;
  const std::size_t count = 1 + below(6);
  for (std::size_t i = 0; i < count; ++i) {
    kube::Object config(api::kMachineConfig, {"", fmt::format("{:02}-generated", i)});
    config.set_label(api::label::kRole, "worker");
    if (chance(0.1)) config.set_annotation(api::config_annotation::kGeneratedByController, "1");
    config.json().get_object()["spec"] = spec();
    configs.push_back(std::move(config));
  }
  return configs;
}

}  // namespace strake::test
