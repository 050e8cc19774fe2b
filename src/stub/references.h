// Which stubs a cluster has, and who uses them: found by every reference and by the names the platform gives them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/object.h"

namespace strake::stub {

/// The key of a Secret's data that holds the stub, but for the Cluster API.
inline constexpr std::string_view kUserDataKey = "userData";

/// The stub that lies in a Secret. The error says what is wrong with it; who asks names the Secret.
Result<std::string> stub_text(const kube::Object& secret, std::string_view key = kUserDataKey);

/// An object whose machines are born with a stub.
struct StubUser {
  std::string kind;
  std::string ns;
  std::string name;

  std::string to_string() const { return kind + "/" + name; }
  auto operator<=>(const StubUser&) const = default;
};

struct FoundStub {
  std::string ns;
  std::string secret;
  std::string key;              ///< of the Secret's data: "userData", or "value" for the Cluster API
  std::vector<StubUser> users;  ///< may be none: found by its name
  bool managed = false;         ///< the platform writes it; what others write there is undone
  std::string converted_from;   ///< the Secret it was converted from, or ""
  std::string bytes;            ///< the config as it lies there
  std::string problem;          ///< why there are no bytes; "" when there are
};

/// Lists as the API gives them; kinds a cluster does not have are empty lists.
struct StubObjects {
  std::vector<kube::ObjectPtr> machine_sets;
  std::vector<kube::ObjectPtr> control_plane_machine_sets;
  std::vector<kube::ObjectPtr> machines;
  std::vector<kube::ObjectPtr> cluster_api;  ///< Machines, MachineSets and MachineDeployments of the Cluster API
  std::vector<kube::ObjectPtr> secrets;      ///< of the namespaces in question
};

/// The Secret a machine set or machine names; nothing when it names none.
struct SecretReference {
  std::string ns;
  std::string name;
  std::string key;
};
std::optional<SecretReference> stub_of(const kube::Object& object);

/// By namespace and name. A Secret that is named and not there is in the list, with the problem.
std::vector<FoundStub> find_stubs(const StubObjects& objects);

/// A JSON patch that makes a machine set use another Secret, only while it uses `from`. kUnsupported: its shape is not
/// known, or somebody else owns it.
Result<json::Value> repoint_patch(const kube::Object& machine_set, const std::string& from, const std::string& to);

/// A copy of the Secret under another name, with this stub in it.
kube::Object converted_copy(const kube::Object& secret, const std::string& name, const std::string& key,
                            std::string_view stub);

}  // namespace strake::stub
