#include "machineconfig/validate.h"

#include <gtest/gtest.h>

#include "codec/compress.h"
#include "codec/data_url.h"
#include "machineconfig/testing/builders.h"

namespace strake::machineconfig::validate_test {

using builders::ignition_spec;
using builders::machine_config;
using ignition::Severity;

kube::Object bad(json::Value spec) { return machine_config("10-bad", "worker", std::move(spec)); }

json::Value file_with(std::string_view members) {
  return ignition_spec(fmt::format(R"("storage":{{"files":[{{"path":"/ok"}},{{"path":"/a",{}}}]}})", members));
}

struct Refusal {
  const char* name;
  json::Value spec;
  std::string message;  ///< behind "MachineConfig 10-bad: "
};

/// Every refusal names the MachineConfig, the field, and inside a config the member with its index.
TEST(ReadFragment, Refusals) {
  const std::string bomb = codec::gzip(std::string(std::size_t{80} << 20, '\0'));
  const Refusal refusals[] = {
      {"kernel type", builders::from_text(R"({"kernelType":"fast"})"), "spec.kernelType: kernelType=fast is invalid"},
      {"unknown version", builders::from_text(R"({"config":{"ignition":{"version":"9.9.9"}}})"),
       "spec.config: ignition.version: "},
      {"no version", builders::from_text(R"({"config":{}})"), "spec.config: ignition.version: "},
      {"a later patch version", builders::from_text(R"({"config":{"ignition":{"version":"3.5.1"}}})"),
       "spec.config: ignition.version: "},
      {"a later minor version", builders::from_text(R"({"config":{"ignition":{"version":"3.6.0"}}})"),
       "spec.config: ignition.version: "},
      {"version as number", builders::from_text(R"({"config":{"ignition":{"version":3.5}}})"),
       "spec.config: ignition.version: expected a string"},
      {"config as text", builders::from_text(R"({"config":"{}"})"), "spec.config: expected an object, found string"},
      {"special mode bits", file_with(R"("mode":1023)"),
       "spec.config: storage.files[1].mode: invalid mode 01777 of /a: it cannot exceed 0777"},
      {"impossible mode", file_with(R"("mode":4096)"), "spec.config: storage.files[1].mode: illegal file mode"},
      {"relative path", ignition_spec(R"("storage":{"files":[{"path":"etc/x"}]})"),
       "spec.config: storage.files[0].path: path not absolute"},
      {"duplicate path", ignition_spec(R"("storage":{"files":[{"path":"/x"},{"path":"/x"}]})"),
       "spec.config: storage.files[1]: duplicate entry defined: '/x'"},
      {"file and link of one path",
       ignition_spec(R"("storage":{"files":[{"path":"/x"}],"links":[{"path":"/x","target":"/y"}]})"),
       "spec.config: storage.links[0]: duplicate entry defined: '/x'"},
      {"file below a link",
       ignition_spec(R"("storage":{"files":[{"path":"/x/y"}],"links":[{"path":"/x","target":"/z"}]})"),
       "spec.config: storage.files[0]: file path includes link in config"},
      {"file where a unit is",
       ignition_spec(
           R"("storage":{"files":[{"path":"/etc/systemd/system/a.service"}]},"systemd":{"units":[{"name":"a.service","contents":"[Unit]\n"}]})"),
       "spec.config: storage.files[0].path: path conflicts with systemd unit or dropin"},
      {"overwrite without contents", file_with(R"("overwrite":true)"),
       "spec.config: storage.files[1].overwrite: overwrite must be false if source is unspecified"},
      {"broken base64", file_with(R"("contents":{"source":"data:;base64,!!!"})"),
       "spec.config: storage.files[1].contents.source: "},
      {"raw blank in a data URL", file_with(R"("contents":{"source":"data:,a b"})"),
       "spec.config: storage.files[1].contents.source: "},
      {"not gzip", file_with(R"("contents":{"compression":"gzip","source":"data:,plain"})"),
       "spec.config: storage.files[1] (/a).contents.source"},
      {"gzip bomb",
       file_with(
           fmt::format(R"("contents":{{"compression":"gzip","source":"{}"}})", codec::encode_base64_data_url(bomb))),
       "spec.config: storage.files[1] (/a).contents.source"},
      {"unknown compression", file_with(R"("contents":{"compression":"xz","source":"data:,x"})"),
       "spec.config: storage.files[1].contents.compression: invalid compression method"},
      {"unit without sections", ignition_spec(R"("systemd":{"units":[{"name":"a.service","contents":"[Unit"}]})"),
       "spec.config: systemd.units[0].contents: invalid unit content: unable to find end of section"},
      {"unit suffix", ignition_spec(R"("systemd":{"units":[{"name":"a.txt"}]})"),
       "spec.config: systemd.units[0].name: invalid systemd unit extension"},
      {"drop-in suffix", ignition_spec(R"("systemd":{"units":[{"name":"a.service","dropins":[{"name":"x"}]}]})"),
       "spec.config: systemd.units[0].dropins[0].name: invalid systemd drop-in extension"},
      {"mode as text", file_with(R"("mode":"0644")"), "spec.config: storage.files[1].mode: expected an integer"},
      {"unknown extensions",
       builders::from_text(R"({"config":{"ignition":{"version":"3.5.0"}},"extensions":["emacs","sysstat","vi"]})"),
       "spec.extensions: invalid extensions found: [emacs vi]"},
      {"extension as number", builders::from_text(R"({"extensions":["usbguard",1]})"),
       "spec.extensions[1]: expected a string, found integer"},
      {"arguments as text", builders::from_text(R"({"kernelArguments":"a b"})"),
       "spec.kernelArguments: expected a list, found string"},
      {"fips as text", builders::from_text(R"({"fips":"yes"})"), "spec.fips: expected a boolean, found string"},
      {"image as list", builders::from_text(R"({"osImageURL":[]})"), "spec.osImageURL: expected a string, found array"},
      {"spec as list", builders::from_text("[]"), "spec: expected an object, found array"},
  };
  for (const Refusal& refusal : refusals) {
    const kube::Object config = bad(refusal.spec);
    const auto fragment = read_fragment(config);
    ASSERT_FALSE(fragment.ok()) << refusal.name;
    EXPECT_EQ(fragment.error().code(), Code::kInvalidArgument) << refusal.name;
    EXPECT_TRUE(fragment.error().to_string().starts_with("MachineConfig 10-bad: " + refusal.message))
        << refusal.name << ": " << fragment.error().to_string();
    const auto problems = find_problems(config);
    EXPECT_TRUE(!problems.empty() && problems.front().severity == Severity::kError) << refusal.name;
  }
}

TEST(ReadFragment, AcceptsWhatThePlatformAccepts) {
  struct Case {
    const char* name;
    json::Value spec;
  };
  const Case cases[] = {
      {"nothing", builders::from_text("{}")},
      {"nulls",
       builders::from_text(
           R"({"osImageURL":null,"config":null,"kernelArguments":null,"extensions":null,"fips":null,"kernelType":null})")},
      {"all extensions",
       builders::from_text(
           R"({"config":{"ignition":{"version":"3.5.0"}},"extensions":["two-node-ha","ipsec","usbguard","kerberos","kernel-devel","sandboxed-containers","sysstat"]})")},
      {"an unknown extension without a config", builders::from_text(R"({"extensions":["emacs"]})")},
      {"a sticky directory", ignition_spec(R"("storage":{"directories":[{"path":"/tmp/x","mode":1023}]})")},
      {"a unit the OS brings, switched on",
       ignition_spec(R"("systemd":{"units":[{"name":"a.service","enabled":true}]})")},
      {"an unknown member", ignition_spec(R"("storage":{"files":[{"path":"/x","colour":"red"}]})")},
  };
  for (const Case& test : cases) {
    const auto fragment = read_fragment(bad(test.spec));
    EXPECT_TRUE(fragment.ok()) << test.name << ": " << fragment.error().to_string();
  }
}

TEST(ReadFragment, ANullInAListIsAnEmptyText) {
  const auto fragment = read_fragment(bad(builders::from_text(R"({"kernelArguments":["a",null]})")));
  ASSERT_TRUE(fragment.ok());
  EXPECT_EQ(fragment->kernel_arguments, (std::vector<std::string>{"a", ""}));
}

TEST(FindProblems, WarnsOfWhatRendersAndDoesNotWork) {
  kube::Object config = bad(builders::from_text(R"({"colour":"red","extensions":["emacs"]})"));
  config.json().get_object()["metadata"].get_object().erase("labels");
  std::vector<std::string> texts;
  for (const Problem& problem : find_problems(config)) {
    EXPECT_EQ(problem.severity, Severity::kWarning);
    texts.push_back(problem.to_string());
  }
  EXPECT_EQ(texts, (std::vector<std::string>{
                       "spec.colour: unknown field; nothing reads it",
                       "spec.extensions: unknown extension 'emacs'; no node can install it",
                       "metadata.labels: no labels, so no pool takes it; set machineconfiguration.openshift.io/role"}));

  texts.clear();
  for (const Problem& problem :
       find_problems(bad(ignition_spec(R"("systemd":{"units":[{"name":"a.service"}]},"storage":{"colour":1})")))) {
    texts.push_back(problem.to_string());
  }
  EXPECT_EQ(texts, (std::vector<std::string>{
                       "spec.config: storage.colour: unused key colour",
                       "spec.config: systemd.units[0]: unit a.service has no contents, drop-ins, enabled or mask: it "
                       "does nothing"}));
}

}  // namespace strake::machineconfig::validate_test
