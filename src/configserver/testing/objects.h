// Pools, rendered configs and what else a config server reads, from as little text as possible.
#pragma once

#include <string>
#include <string_view>

#include "kube/object.h"

namespace strake::configserver::objects {

/// Aborts on text that is not JSON: a test's own mistake.
json::Value from_text(std::string_view text);

/// A rendered MachineConfig with this Ignition config and further members of its spec.
kube::Object rendered(const std::string& name, std::string_view ignition, std::string_view more_spec = "");

/// A pool that is to run `target`; `updated` machines do, and all together last ran `reached`.
kube::Object pool(const std::string& name, const std::string& target, const std::string& reached, int updated);

kube::Object controller_config(std::string_view api_server_ca, std::string_view cloud_ca = "");
kube::Object bootstrap_token(std::string_view token, std::string_view ca);
kube::Object serving_secret(std::string_view certificate_pem, std::string_view key_pem);

/// The decoded contents of the file in a served config; "absent" when there is none.
std::string file_in(const json::Value& config, std::string_view path);

}  // namespace strake::configserver::objects
