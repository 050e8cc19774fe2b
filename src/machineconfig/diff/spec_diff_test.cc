#include "machineconfig/diff/spec_diff.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "codec/base64.h"
#include "codec/compress.h"
#include "codec/digest.h"
#include "machineconfig/testing/spec_text.h"

namespace strake::machineconfig::spec_diff_test {

using builders::file_text;
using builders::from_text;
using builders::ignition_spec;
using builders::spec_with_files;

SpecDiff diff_of(const json::Value& before, const json::Value& after, const SpecDiffOptions& options = {}) {
  auto diff = diff_specs(before, after, options);
  EXPECT_TRUE(diff.ok()) << (diff.ok() ? "" : diff.error().to_string());
  return diff.ok() ? *std::move(diff) : SpecDiff{};
}

/// "file /etc/a changed": what a reader sees first of each change.
std::vector<std::string> headlines(const SpecDiff& diff) {
  std::vector<std::string> lines;
  for (const SpecChange& change : diff.changes) {
    lines.push_back(
        fmt::format("{} {}", Subject{change.subject.kind, change.name}.to_string(), to_string(change.kind)));
  }
  return lines;
}

using Lines = std::vector<std::string>;

/// A spec in which every kind of subject occurs.
json::Value rich_spec(std::string_view mark) {
  return from_text(fmt::format(R"({{
    "osImageURL":"os-{0}","baseOSExtensionsContainerImage":"ext-{0}","kernelType":"{1}","fips":{2},
    "kernelArguments":["karg={0}"],"extensions":["ext{0}"],
    "config":{{"ignition":{{"version":"3.5.0","timeouts":{{"httpTotal":{3}}}}},
      "kernelArguments":{{"shouldExist":["{0}"]}},
      "passwd":{{"users":[{{"name":"core","uid":{3},"passwordHash":"{0}","sshAuthorizedKeys":["ssh-rsa {0}"]}}],
                "groups":[{{"name":"g","gid":{3}}}]}},
      "storage":{{"files":[{{"path":"/etc/f","contents":{{"source":"data:,{0}"}}}}],
                  "directories":[{{"path":"/etc/d","mode":{3}}}],
                  "links":[{{"path":"/etc/l","target":"/etc/{0}"}}],
                  "luks":[{{"name":"{0}","device":"/dev/sda"}}],"disks":[{{"device":"/dev/{0}"}}],
                  "raid":[{{"name":"{0}","level":"raid1","devices":["/dev/sdx"]}}],
                  "filesystems":[{{"device":"/dev/{0}","format":"xfs"}}]}},
      "systemd":{{"units":[{{"name":"u.service","contents":"[Unit]\nDescription={0}\n",
                            "dropins":[{{"name":"d.conf","contents":"[Service]\nUser={0}\n"}}]}}]}}}}}})",
                               mark, mark == "a" ? "default" : "realtime", mark == "a", mark == "a" ? 1 : 2));
}

TEST(SpecDiff, EveryKindOfSubjectOccurs) {
  const SpecDiff diff = diff_of(rich_spec("a"), rich_spec("b"));
  EXPECT_EQ(headlines(diff), (Lines{"OS image changed",
                                    "extensions image changed",
                                    "kernel type changed",
                                    "FIPS mode changed",
                                    "kernel argument karg=b added",
                                    "kernel argument karg=a removed",
                                    "extension extb added",
                                    "extension exta removed",
                                    "file /etc/f changed",
                                    "directory /etc/d changed",
                                    "link /etc/l changed",
                                    "unit u.service changed",
                                    "drop-in u.service/d.conf changed",
                                    "user core changed",
                                    "password of core changed",
                                    "SSH key core ssh-rsa b added",
                                    "SSH key core ssh-rsa a removed",
                                    "group g changed",
                                    "Ignition section kernelArguments changed",
                                    "Ignition section storage.disks changed",
                                    "Ignition section storage.filesystems changed",
                                    "Ignition section storage.luks changed",
                                    "Ignition section storage.raid changed",
                                    "Ignition section ignition.timeouts changed"}));
  std::set<SubjectKind> kinds;
  for (const SpecChange& change : diff.changes) {
    kinds.insert(change.subject.kind);
    EXPECT_FALSE(change.why.empty()) << change.name;
    EXPECT_FALSE(change.before.empty() && change.after.empty() && change.details.empty() &&
                 change.kind == ChangeKind::kChanged)
        << change.name;
  }
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(SubjectKind::kIgnitionSection) + 1);
  EXPECT_EQ(diff.verdict.irreconcilable->subject.to_string(), "group g");
}

TEST(SpecDiff, SaysWhereStrakesAgentDoesSomethingElse) {
  const json::Value base = builders::ignition_spec("");
  const SpecDiff same =
      diff_of(base, builders::spec_with_files({builders::file_text("/etc/containers/policy.json", "{}")}));
  EXPECT_NE(to_text(same).find("Class:     reload"), std::string::npos) << to_text(same);
  EXPECT_EQ(to_text(same).find("Agent:"), std::string::npos) << to_text(same);
  EXPECT_EQ(json::write(*json::find(to_json(same), {"agentActions"})), R"(["Reload crio.service"])");
  const SpecDiff dearer = diff_of(base, builders::spec_with_files({builders::file_text(
                                            "/etc/containers/registries.conf", "[[registry]]\nlocation = \"a\"\n")}));
  EXPECT_NE(to_text(dearer).find("Class:     drain"), std::string::npos) << to_text(dearer);
  EXPECT_NE(to_text(dearer).find("Agent:     Strake's agent does more: each node reboots\n"), std::string::npos)
      << to_text(dearer);
  json::Value realtime = base;
  realtime.get_object()["kernelType"] = "realtime";
  const SpecDiff refused = diff_of(base, realtime);
  EXPECT_NE(
      to_text(refused).find("Agent:     Strake's agent refuses the config; it cannot apply kernel type realtime\n"),
      std::string::npos)
      << to_text(refused);
  const json::Value written = to_json(refused);
  EXPECT_EQ(json::write(*json::find(written, {"agentRefuses"})), R"(["kernel type realtime"])");
}

TEST(SpecDiff, EqualSpecsDoNotDiffer) {
  const SpecDiff diff = diff_of(rich_spec("a"), rich_spec("a"));
  EXPECT_TRUE(diff.empty());
  EXPECT_EQ(to_text(diff), "No difference.\n");
  EXPECT_EQ(
      json::write(to_json(diff)),
      R"({"before":"","after":"","reconcilable":true,"reason":"","class":"none","meaning":"","actions":["None"],"drain":false,"agentClass":"none","agentActions":[],"agentRefuses":[],)"
      R"("changedFiles":[],"changedUnits":[],"changes":[],"notes":[]})");
}

TEST(SpecDiff, FilesByTheirDecodedContents) {
  const auto gzipped = [](const std::string& text) {
    return fmt::format(R"({{"path":"/etc/a","contents":{{"compression":"gzip","source":"data:;base64,{}"}}}})",
                       codec::encode_base64(codec::gzip(text)));
  };
  const std::string binary(
      "\x7f"
      "ELF\0\1",
      6),
      other_binary(
          "\x7f"
          "ELF\0\2",
          6);
  const struct {
    const char* name;
    std::string before, after;
    Lines details;
  } cases[] = {
      {"text", file_text("/etc/a", "1\n2\n"), file_text("/etc/a", "1\n3\n"), {"@@ -1,2 +1,2 @@", " 1", "-2", "+3"}},
      {"compressed text", gzipped("1\n2\n"), gzipped("1\n3\n"), {"@@ -1,2 +1,2 @@", " 1", "-2", "+3"}},
      {"mode and owner",
       file_text("/etc/a", "x", R"(,"mode":416)"),
       file_text("/etc/a", "x", R"(,"mode":420,"user":{"name":"core"},"group":{"id":7})"),
       {"mode: 0640 -> 0644", "owner: unset -> core:7"}},
      {"another encoding",
       R"({"path":"/etc/a","contents":{"source":"data:,1"}})",
       R"({"path":"/etc/a","contents":{"source":"data:;base64,MQ=="}})",
       {"same contents, mode and owner; the config only writes them differently"}},
      {"a binary",
       file_text("/etc/a", binary),
       file_text("/etc/a", other_binary),
       {fmt::format("contents: 6 bytes, {} -> 6 bytes, {}", codec::Digest::sha256_of(binary).to_string(),
                    codec::Digest::sha256_of(other_binary).to_string())}},
      {"not UTF-8",
       file_text("/etc/a", "\xff\xfe"),
       file_text("/etc/a", "a"),
       {fmt::format("contents: 2 bytes, {} -> 1 bytes, {}", codec::Digest::sha256_of("\xff\xfe").to_string(),
                    codec::Digest::sha256_of("a").to_string())}},
      {"fetched",
       R"({"path":"/etc/a","contents":{"source":"https://a.example.com/x"}})",
       R"({"path":"/etc/a","contents":{"source":"https://b.example.com/x"}})",
       {"contents: fetched from https://a.example.com/x -> fetched from https://b.example.com/x"}},
  };
  for (const auto& c : cases) {
    const SpecDiff diff = diff_of(spec_with_files({c.before}), spec_with_files({c.after}));
    ASSERT_EQ(diff.changes.size(), 1u) << c.name;
    EXPECT_EQ(diff.changes[0].details, c.details) << c.name;
    EXPECT_FALSE(diff.changes[0].secret) << c.name;
  }
}

TEST(SpecDiff, SystemdSettingsBySectionAndKeyWhereverTheyAre) {
  const SpecDiff diff =
      diff_of(spec_with_files({file_text("/etc/systemd/journald.conf.d/a.conf", "[Journal]\n# old\nStorage=auto\n")}),
              spec_with_files({file_text("/etc/systemd/journald.conf.d/a.conf", "[Journal]\nStorage=persistent\n")}));
  EXPECT_EQ(diff.changes[0].details, (Lines{"[Journal]", "-Storage=auto", "+Storage=persistent"}));
}

TEST(SpecDiff, WhatAGzipBombHoldsIsNotAnError) {
  const std::string bomb = codec::encode_base64(codec::gzip(std::string(65u << 20, 'x')));
  const std::string file =
      fmt::format(R"({{"path":"/etc/a","contents":{{"compression":"gzip","source":"data:;base64,{}"}}}})", bomb);
  const SpecDiff diff = diff_of(ignition_spec(""), spec_with_files({file}));
  ASSERT_EQ(diff.changes.size(), 1u);
  EXPECT_TRUE(diff.changes[0].after.starts_with("0644, unreadable: ")) << diff.changes[0].after;
}

TEST(SpecDiff, LargeFilesAreBounded) {
  std::string text;
  for (int i = 0; i < 60'000; ++i) text += fmt::format("line {} of a large file\n", i);
  const SpecDiff diff = diff_of(ignition_spec(""), spec_with_files({file_text("/etc/a", text)}));
  EXPECT_EQ(diff.changes[0].details.size(), 201u);
  const std::string huge(kMaxDiffedFileBytes + 1, 'x');
  const std::string file =
      fmt::format(R"({{"path":"/etc/a","contents":{{"compression":"gzip","source":"data:;base64,{}"}}}})",
                  codec::encode_base64(codec::gzip(huge)));
  const SpecDiff by_digest = diff_of(ignition_spec(""), spec_with_files({file}));
  EXPECT_EQ(by_digest.changes[0].details,
            Lines{fmt::format("contents: absent -> 4194305 bytes, {}", codec::Digest::sha256_of(huge).to_string())});
}

TEST(SpecDiff, UnitsAndDropins) {
  const auto units = [](std::string_view unit) {
    return ignition_spec(fmt::format(R"("systemd":{{"units":[{}]}})", unit));
  };
  const struct {
    const char* name;
    const char *before, *after;
    Lines headlines, details;
  } cases[] = {
      {"enabled",
       R"({"name":"a.service"})",
       R"({"name":"a.service","enabled":true})",
       {"unit a.service changed"},
       {"enabled: unset -> true"}},
      {"masked",
       R"({"name":"a.service","mask":true})",
       R"({"name":"a.service","mask":false})",
       {"unit a.service changed"},
       {"mask: true -> false"}},
      {"a drop-in alone",
       R"({"name":"a.service"})",
       R"({"name":"a.service","dropins":[{"name":"1.conf","contents":"[Service]\nUser=x\n"}]})",
       {"drop-in a.service/1.conf added"},
       {"[Service]", "+User=x"}},
      {"drop-ins in another order",
       R"({"name":"a.service","dropins":[{"name":"1.conf"},{"name":"2.conf"}]})",
       R"({"name":"a.service","dropins":[{"name":"2.conf"},{"name":"1.conf"}]})",
       {"unit a.service changed"},
       {"its drop-ins are listed in another order, or an empty list stands for none"}},
      {"empty contents",
       R"({"name":"a.service"})",
       R"({"name":"a.service","contents":""})",
       {"unit a.service changed"},
       {"empty contents against none"}},
  };
  for (const auto& c : cases) {
    const SpecDiff diff = diff_of(units(c.before), units(c.after));
    EXPECT_EQ(headlines(diff), c.headlines) << c.name;
    ASSERT_FALSE(diff.changes.empty()) << c.name;
    EXPECT_EQ(diff.changes[0].details, c.details) << c.name;
    EXPECT_EQ(diff.changes[0].why, "no policy names it, so the node reboots") << c.name;
  }
}

TEST(SpecDiff, OrderIsNoted) {
  const std::string a = file_text("/etc/a", "1"), b = file_text("/etc/b", "2");
  const SpecDiff diff = diff_of(spec_with_files({a, b}), spec_with_files({b, a}));
  EXPECT_TRUE(diff.changes.empty());
  EXPECT_EQ(diff.notes, Lines{"storage.files: the same items in another order"});
  EXPECT_EQ(to_text(diff),
            "Class:     none: nodes keep running undisturbed\n"
            "Actions:   none needed\n"
            "Drain:     no\n"
            "\n"
            "  storage.files: the same items in another order\n");
  json::Value before = ignition_spec(""), after = before;
  before.get_object()["kernelArguments"] = json::Array{"a", "b", "a"};
  after.get_object()["kernelArguments"] = json::Array{"b", "a", "a"};
  const SpecDiff arguments = diff_of(before, after);
  EXPECT_EQ(headlines(arguments), Lines{"kernel argument changed"});
  EXPECT_EQ(arguments.changes[0].before, "a b a");
  EXPECT_EQ(arguments.verdict.disruption, DisruptionClass::kReboot);
}

TEST(SpecDiff, TextForPeople) {
  json::Value before = spec_with_files(
      {file_text("/etc/chrony.conf", "server a\nserver b\n"), file_text("/etc/containers/policy.json", "{}\n")});
  json::Value after = spec_with_files(
      {file_text("/etc/chrony.conf", "server a\nserver c\n"), file_text("/etc/containers/policy.json", "[]\n")});
  SpecDiffOptions options;
  options.before_name = "rendered-worker-1";
  options.after_name = "rendered-worker-2";
  SpecDiff diff = diff_of(before, after, options);
  diff.changes[0].before_from = "00-worker";
  diff.changes[0].after_from = "50-chrony";
  EXPECT_EQ(to_text(diff), R"(rendered-worker-1 -> rendered-worker-2
Class:     reboot: each node reboots
Actions:   Reboot
Drain:     yes
Because:   file /etc/chrony.conf (no policy names it, so the node reboots)

~ file /etc/chrony.conf changed
    is:   0644, 18 bytes
    from: 50-chrony (before: 00-worker)
    why:  no policy names it, so the node reboots
    | @@ -1,2 +1,2 @@
    |  server a
    | -server b
    | +server c

~ file /etc/containers/policy.json changed
    is:   0644, 3 bytes
    why:  the default policy says Reload crio.service
    | @@ -1 +1 @@
    | -{}
    | +[]
)");
  const json::Value document = to_json(diff);
  EXPECT_EQ(json::write(*json::find(document, {"actions"})), R"(["Reboot"])");
  EXPECT_EQ(json::write(*json::find(document, {"changedFiles"})),
            R"(["/etc/chrony.conf","/etc/containers/policy.json"])");
  EXPECT_EQ(
      json::write(document.at("changes").at(0)),
      R"({"kind":"file","name":"/etc/chrony.conf","change":"changed","before":"0644, 18 bytes","after":"0644, 18 bytes",)"
      R"("details":["@@ -1,2 +1,2 @@"," server a","-server b","+server c"],"secret":false,"actions":["Reboot"],)"
      R"("why":"no policy names it, so the node reboots","beforeFrom":"00-worker","afterFrom":"50-chrony"})");
}

TEST(SpecDiff, IrreconcilableFirst) {
  const SpecDiff diff = diff_of(ignition_spec(""), ignition_spec(R"("storage":{"directories":[{"path":"/etc/d"}]})"));
  const std::string text = to_text(diff);
  EXPECT_TRUE(
      text.starts_with("Class:     reinstall: running nodes cannot follow: the pool degrades and takes no further "
                       "change, of anything, until this one is taken back; only machines installed anew get it\n"
                       "Actions:   none needed\nDrain:     no\n"
                       "Because:   directory /etc/d (ignition directories section contains changes)\n"))
      << text;
  EXPECT_EQ(diff.changes[0].why, "a running node cannot follow: ignition directories section contains changes");
  EXPECT_FALSE(*json::find_bool(to_json(diff), {"reconcilable"}));
  EXPECT_EQ(json::find_string(to_json(diff), {"reason"}), "ignition directories section contains changes");
}

TEST(SpecDiff, OlderSpecsAreRaisedFirst) {
  const json::Value before = from_text(
      R"({"config":{"ignition":{"version":"2.2.0"},
          "storage":{"files":[{"filesystem":"root","path":"/etc/a","mode":420,"contents":{"source":"data:,1"}}]}}})");
  const SpecDiff diff = diff_of(before, spec_with_files({file_text("/etc/a", "2", R"(,"mode":420)")}));
  EXPECT_EQ(headlines(diff), Lines{"file /etc/a changed"});
  EXPECT_EQ(diff.changes[0].before, "0644, 1 bytes");
}

TEST(SpecDiff, WhatRunningNodesIgnoreIsSaid) {
  SpecDiffOptions options;
  options.context.overrides.disks = true;
  const SpecDiff diff =
      diff_of(ignition_spec(""), ignition_spec(R"("storage":{"disks":[{"device":"/dev/sda"}]})"), options);
  EXPECT_EQ(diff.verdict.disruption, DisruptionClass::kNone);
  EXPECT_EQ(diff.changes[0].why, "running nodes do nothing; only machines installed later get it");
}

TEST(SpecDiff, AnotherEncodingRebootsOnlyWhereTheOperatorDecides) {
  const json::Value before = spec_with_files({R"({"path":"/etc/a","contents":{"source":"data:,1"}})"});
  const json::Value after = spec_with_files({R"({"path":"/etc/a","contents":{"source":"data:;base64,MQ=="}})"});
  EXPECT_EQ(diff_of(before, after).verdict.disruption, DisruptionClass::kReboot);
  SpecDiffOptions calm;
  calm.context.comparison = FileComparison::kDecoded;
  const SpecDiff diff = diff_of(before, after, calm);
  EXPECT_EQ(diff.verdict.disruption, DisruptionClass::kNone);
  EXPECT_EQ(diff.changes[0].why, "the node's file stays as it is");
}

TEST(SpecDiff, ContentsCannotPlayWithTheTerminal) {
  const SpecDiff diff = diff_of(ignition_spec(""), spec_with_files({file_text("/etc/a",
                                                                              "\x1b[2Jx\r\n\xc2\x9b"
                                                                              "1m \xe2\x80\xae"
                                                                              "abc\tok\n")}));
  const std::string text = to_text(diff);
  EXPECT_NE(text.find(R"(+\x1b[2Jx\x0d)"), std::string::npos) << text;
  EXPECT_NE(text.find("+\\xc2\\x9b1m \\xe2\\x80\\xae"
                      "abc\tok"),
            std::string::npos)
      << text;
}

/// Small random specs: few names, so that the two sides meet often.
json::Value random_spec() {
  const auto word = [] { return *rc::gen::element<std::string>("a", "b"); };
  const auto some = [](int odds) { return *rc::gen::inRange(0, odds) == 0; };
  json::Object spec{{"osImageURL", some(4) ? "x" : "y"},
                    {"kernelArguments", some(4) ? json::Array{"q"} : json::Array{}}};
  json::Array files, units;
  for (const char* path : {"/etc/x", "/etc/containers/policy.json", "/etc/containers/registries.conf",
                           "/var/lib/kubelet/config.json", "/etc/kubernetes/credential-providers/c"}) {
    if (some(2)) files.push_back(from_text(file_text(path, "# " + word())));
  }
  for (const char* name : {"a.service", "iri-registry.service"}) {
    if (some(4)) units.push_back(json::Object{{"name", name}, {"contents", "[Unit]\nDescription=" + word() + "\n"}});
  }
  json::Object config{{"ignition", json::Object{{"version", "3.5.0"}}},
                      {"storage", json::Object{{"files", std::move(files)}}},
                      {"systemd", json::Object{{"units", std::move(units)}}}};
  if (some(3)) {
    config["passwd"] = json::Object{
        {"users", json::Array{json::Object{{"name", "core"}, {"sshAuthorizedKeys", json::Array{word()}}}}}};
  }
  if (some(8)) config["kernelArguments"] = json::Object{{"shouldExist", json::Array{word()}}};
  spec["config"] = std::move(config);
  return spec;
}

RC_GTEST_PROP(SpecDiff, ClassActionsAndChangesAgree, ()) {
  const json::Value before = random_spec(), after = random_spec();
  const auto diff = diff_specs(before, after);
  RC_ASSERT(diff.ok());
  const DisruptionVerdict& verdict = diff->verdict;
  const auto has = [&](ActionType type) {
    return std::any_of(verdict.actions.begin(), verdict.actions.end(),
                       [&](const PolicyAction& a) { return a.type == type; });
  };
  RC_ASSERT((before == after) == diff->empty());
  RC_ASSERT((verdict.disruption == DisruptionClass::kReinstall) == verdict.irreconcilable.has_value());
  if (!verdict.irreconcilable) {
    RC_ASSERT((verdict.disruption == DisruptionClass::kNone) == (verdict.actions.empty() || has(ActionType::kNone)));
  }
  RC_ASSERT((verdict.disruption == DisruptionClass::kReboot) == has(ActionType::kReboot));
  RC_ASSERT(!has(ActionType::kReboot) || (verdict.actions.size() == 1 && verdict.drain));
  RC_ASSERT(!has(ActionType::kNone) || verdict.actions.size() == 1);
  RC_ASSERT((verdict.disruption == DisruptionClass::kDrain) == (verdict.drain && !has(ActionType::kReboot)));
  for (const ChangedName& file : verdict.changes.changed_files) {
    RC_ASSERT(std::any_of(diff->changes.begin(), diff->changes.end(), [&](const SpecChange& change) {
      return change.subject == Subject{SubjectKind::kFile, file.name} && change.kind == file.kind;
    }));
  }
  // The way back changes the same things.
  const auto back = diff_specs(after, before);
  RC_ASSERT(back.ok());
  RC_ASSERT(back->changes.size() == diff->changes.size());
}

}  // namespace strake::machineconfig::spec_diff_test
