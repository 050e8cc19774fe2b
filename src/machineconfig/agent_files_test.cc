#include "machineconfig/agent_files.h"

#include <gtest/gtest.h>

#include "machineconfig/testing/builders.h"
#include "machineconfig/validate.h"

namespace strake::machineconfig::agent_files_test {

TEST(AgentFiles, AreTheirsHoweverTheyAreWritten) {
  for (const char* path : {"/var/lib/strake",
                           "/var/lib/strake/",
                           "/var/lib/strake/agent-journal.json",
                           "//var/lib//strake/x",
                           "/var/./lib/strake",
                           "/etc/../var/lib/strake/x",
                           "/var/lib/other/../strake/x",
                           "/../var/lib/strake",
                           "/etc/strake/kubeconfig",
                           "/etc/strake/agent/client.key",
                           "/etc/machine-config-daemon/currentconfig",
                           "/usr/local/bin/strake",
                           "/usr/bin/strake",
                           "/etc/systemd/system/strake-agent.service",
                           "/etc/systemd/system/strake-agent.service.d/10-x.conf",
                           "/etc/systemd/system/strake-.service.d/10-x.conf",
                           "/etc/systemd/system/multi-user.target.wants/strake-agent.service",
                           "/usr/lib/systemd/system/strake-agent.service",
                           "/run/systemd/system/strake-agent.service.d/x.conf",
                           "/bin/strake",
                           "/sbin/strake",
                           "/usr/sbin/strake",
                           "/var/run/strake/agent.sock",
                           "/var/usrlocal/bin/strake",
                           "/lib/systemd/system/strake-agent.service",
                           "/var/run/systemd/system/strake-agent.service",
                           "/var/usrlocal/lib/systemd/system/strake-agent.service",
                           "/proc/1/root/var/lib/strake/x",
                           "/proc/self/root/proc/self/root/var/run/strake",
                           "/sysroot/ostree/deploy/fedora/var/lib/strake",
                           "/ostree/deploy/fedora/var/lib/strake/x",
                           "/ostree/deploy/fedora/deploy/0a1b.0/etc/strake/kubeconfig"}) {
    EXPECT_TRUE(is_agent_path(path)) << path;
  }
  for (const char* path :
       {"/var/lib/strakes", "/var/lib/strake-other/x", "/var/lib", "/etc/strake/first-boot", "/etc/strake-sample.conf",
        "/etc/machine-config-daemon/no-reboot/containers-gpg.pub", "/usr/local/bin/strake-helper",
        "/etc/systemd/system/strake-sample.service", "/etc/systemd/system/my-strake-agent.service",
        "/opt/strake-agent.service", "/var/lib/strake/../x", "", "/bin/strake-helper", "/binary/strake", "/proc/1",
        "/proc/1/root", "/ostree/deploy", "/ostree/deploy/fedora/deploy/0a1b.0", "/var/running/strake"}) {
    EXPECT_FALSE(is_agent_path(path)) << path;
  }
}

struct ClaimCase {
  const char* name;
  const char* config;   ///< members of an Ignition config
  const char* message;  ///< behind "MachineConfig 50-x: spec.config: "; "": accepted
};

/// Through the gate that every MachineConfig passes before it is merged.
TEST(AgentFiles, AMachineConfigThatNamesThemIsRefused) {
  const ClaimCase cases[] = {
      {"file", R"("storage":{"files":[{"path":"/ok"},{"path":"/var/lib/strake/agent-journal.json"}]})",
       "storage.files[1].path: /var/lib/strake/agent-journal.json belongs to the agent of the node"},
      {"dots", R"("storage":{"files":[{"path":"/etc/../var/lib/strake/x"}]})", "storage.files[0].path: "},
      {"file in the place of a folder", R"("storage":{"files":[{"path":"/etc/machine-config-daemon"}]})",
       "storage.files[0].path: /etc/machine-config-daemon belongs"},
      {"folder", R"("storage":{"directories":[{"path":"/var/lib/strake","mode":511}]})",
       "storage.directories[0].path: "},
      {"link in its place", R"("storage":{"links":[{"path":"/var/lib/strake","target":"/tmp"}]})",
       "storage.links[0].path: "},
      {"link in the place of a folder above", R"("storage":{"links":[{"path":"/var/lib","target":"/tmp"}]})",
       "storage.links[0].path: "},
      {"by another name", R"("storage":{"files":[{"path":"/bin/strake"}]})",
       "storage.files[0].path: /bin/strake belongs to the agent of the node"},
      {"link by another name", R"("storage":{"links":[{"path":"/opt/x","target":"/var/run/strake"}]})",
       "storage.links[0].target: "},
      {"link that leads there", R"("storage":{"links":[{"path":"/opt/x","target":"/var/lib/strake"}]})",
       "storage.links[0].target: "},
      {"relative link that leads there", R"("storage":{"links":[{"path":"/opt/x","target":"../var/lib/strake/y"}]})",
       "storage.links[0].target: "},
      {"unit", R"("systemd":{"units":[{"name":"strake-agent.service","enabled":false}]})", "systemd.units[0].name: "},
      {"masked unit", R"("systemd":{"units":[{"name":"strake-agent.service","mask":true}]})",
       "systemd.units[0].name: "},
      {"drop-in",
       R"("systemd":{"units":[{"name":"strake-agent.service","dropins":[{"name":"a.conf","contents":"[Service]\n"}]}]})",
       "systemd.units[0].name: "},
      {"unit as a file", R"("storage":{"files":[{"path":"/etc/systemd/system/strake-agent.service.d/a.conf"}]})",
       "storage.files[0].path: "},
      {"neighbours",
       R"("storage":{"files":[{"path":"/etc/strake/first-boot"}],"directories":[{"path":"/var/lib/mine"}],
          "links":[{"path":"/opt/x","target":"/var/lib/mine"}]},"systemd":{"units":[{"name":"strake-sample.service"}]})",
       ""},
  };
  for (const ClaimCase& one : cases) {
    const kube::Object config = builders::machine_config("50-x", "worker", builders::ignition_spec(one.config));
    const auto read = read_fragment(config);
    const std::string said = read.ok() ? "" : read.error().to_string();
    if (*one.message == '\0') {
      EXPECT_TRUE(read.ok()) << one.name << ": " << said;
    } else {
      EXPECT_NE(said.find(std::string("MachineConfig 50-x: spec.config: ") + one.message), std::string::npos)
          << one.name << ": " << said;
    }
  }
}

}  // namespace strake::machineconfig::agent_files_test
