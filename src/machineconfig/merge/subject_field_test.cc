#include "machineconfig/merge/subject_field.h"

#include <gtest/gtest.h>

#include "machineconfig/testing/builders.h"

namespace strake::machineconfig::subject_field_test {

TEST(SubjectField, EverySubjectHasAField) {
  const kube::Object config = builders::machine_config("50-a", "worker", R"({
    "kernelArguments": ["quiet", "nosmt"], "extensions": ["usbguard"], "fips": true,
    "config": {
      "storage": {"files": [{"path": "/etc/a"}, {"path": "/etc/b", "mode": 420}], "links": [{"path": "/etc/l"}],
                  "directories": [{"path": "/etc/d"}]},
      "systemd": {"units": [{"name": "a.service"}, {"name": "b.service", "dropins": [{"name": "x.conf"}]}]},
      "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["k1", "k2 me"]}], "groups": [{"name": "g"}]}}})");
  struct Case {
    Subject subject;
    std::string_view member, field;
  };
  const Case cases[] = {
      {{SubjectKind::kFips, ""}, "", "spec.fips"},
      {{SubjectKind::kOsImage, ""}, "", "spec.osImageURL"},
      {{SubjectKind::kKernelArgument, "nosmt"}, "kernelArguments", "spec.kernelArguments[1]"},
      {{SubjectKind::kExtension, "usbguard"}, "extensions", "spec.extensions[0]"},
      {{SubjectKind::kFile, "/etc/b"}, "mode", "spec.config.storage.files[1].mode"},
      {{SubjectKind::kFile, "/etc/a"}, "contents.source", "spec.config.storage.files[0].contents.source"},
      {{SubjectKind::kFile, "/etc/none"}, "mode", "spec.config.storage.files"},
      {{SubjectKind::kLink, "/etc/l"}, "", "spec.config.storage.links[0]"},
      {{SubjectKind::kDirectory, "/etc/d"}, "", "spec.config.storage.directories[0]"},
      {{SubjectKind::kUnit, "b.service"}, "enabled", "spec.config.systemd.units[1].enabled"},
      {{SubjectKind::kDropin, "b.service/x.conf"}, "contents", "spec.config.systemd.units[1].dropins[0].contents"},
      {{SubjectKind::kDropin, "b.service/y.conf"}, "contents", "spec.config.systemd.units[1].dropins"},
      {{SubjectKind::kUser, "core"}, "", "spec.config.passwd.users[0]"},
      {{SubjectKind::kSshKey, "core k2 me"}, "", "spec.config.passwd.users[0].sshAuthorizedKeys[1]"},
      {{SubjectKind::kPassword, "core"}, "", "spec.config.passwd.users[0].passwordHash"},
      {{SubjectKind::kGroup, "g"}, "", "spec.config.passwd.groups[0]"},
      {{SubjectKind::kIgnitionSection, "storage.disks"}, "", "spec.config.storage.disks"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(json::path_text(field_of(config, test.subject, test.member)), test.field) << test.subject.to_string();
  }
}

}  // namespace strake::machineconfig::subject_field_test
