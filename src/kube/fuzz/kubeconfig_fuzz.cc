// Whatever a kubeconfig holds, reading and choosing from it must not crash, and what is written must read back the
// same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kube/cluster_access.h"
#include "kube/exec_credential.h"
#include "kube/kubeconfig.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)strake::kube::parse_exec_credential(text, "client.authentication.k8s.io/v1");
  const auto config = strake::kube::parse_kubeconfig(text, "/nonexistent/config");
  if (!config.ok()) return 0;
  (void)strake::kube::resolve_access(*config);
  const auto written = strake::kube::write_kubeconfig(*config);
  if (!written.ok()) return 0;  // characters YAML cannot carry
  const auto again = strake::kube::parse_kubeconfig(*written, "/nonexistent/config");
  if (!again.ok()) std::abort();
  const auto rewritten = strake::kube::write_kubeconfig(*again);
  if (!rewritten.ok() || *rewritten != *written) std::abort();
  return 0;
}
