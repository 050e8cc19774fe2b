// BootstrapAnswers: what the machines that make the cluster get, from a directory instead of an API.
//
//   DIR/machine-pools/POOL.yaml        the pool; its status names the rendered config
//   DIR/machine-configs/CONFIG.yaml    that config
//   DIR/controller-config/*.yaml       may be absent
//
// Only the pools of control planes are served: no other machine joins before there is a cluster.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "configserver/answer_book.h"

namespace strake::configserver {

struct BootstrapInput {
  std::filesystem::path directory;
  std::filesystem::path kubeconfig;  ///< handed to machines as it is
  /// Registry (a folder of /etc/docker/certs.d) and the file with its authorities.
  std::vector<std::pair<std::string, std::filesystem::path>> registry_authorities;
};

/// Reads the directory as it is now. What is missing or broken becomes an answer, not an error.
std::shared_ptr<const AnswerBook> read_bootstrap(const BootstrapInput& input);

}  // namespace strake::configserver
