// The two servers that are compared, each in processes of its own, with the same certificate and the same bytes.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "net/testing/test_authority.h"

namespace strake::bench {

/// What both of them get.
struct Stage {
  std::filesystem::path folder;  ///< of this contestant alone
  net::testing::TestIdentity identity;
};

class Contestant {
 public:
  virtual ~Contestant() = default;
  virtual std::uint16_t port() const = 0;
  virtual const std::vector<pid_t>& processes() const = 0;
};

/// `strake config-server` over a bootstrap directory with one config of about so many bytes once it is served.
Result<std::unique_ptr<Contestant>> start_config_server(runtime::Runtime& runtime, const Stage& stage,
                                                        std::size_t served_bytes);
/// nginx with two workers and its access log on, as the other side logs too, with this body in a file.
Result<std::unique_ptr<Contestant>> start_nginx(runtime::Runtime& runtime, const Stage& stage, const std::string& body);

/// The path both serve the config at.
inline constexpr const char* kConfigPath = "/config/master";

}  // namespace strake::bench
