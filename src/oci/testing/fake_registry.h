// A registry in memory for tests: the distribution API over TLS, with the authentication and the faults a test asks
// for.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "net/testing/test_server.h"
#include "oci/registry/registry_client.h"

namespace strake::oci::testing {

struct FakeRegistryOptions {
  enum class Auth { kNone, kBasic, kBearer };
  Auth auth = Auth::kNone;
  std::string user = "bot";
  std::string password = "pw";
  bool anonymous_pull = false;  ///< with bearer tokens
  bool ranges = true;
  bool mounts = true;
  bool referrers = false;  ///< lists what refers to an image; registries of old do not
  std::size_t referrers_a_page = 100;
};

class FakeRegistry {
 public:
  using Options = FakeRegistryOptions;
  /// Called first; an answer is sent instead of the registry's own.
  using Intercept = std::function<std::optional<net::Response>(const net::ServerRequest&)>;

  explicit FakeRegistry(Options options = {});
  ~FakeRegistry();

  std::string host() const;
  std::string ca_pem() { return server_->authority().pem(); }
  /// Trusts this registry; `folder` takes the files that needs. With `credentials` the right ones are known.
  RegistryOptions client_options(const std::filesystem::path& folder, bool credentials = true);

  void put_blob(const std::string& repository, const std::string& bytes);
  void put_manifest(const std::string& repository, const std::string& tag, const std::string& type,
                    const std::string& bytes);
  bool has_blob(const std::string& repository, const codec::Digest& digest) const;
  std::optional<std::string> manifest(const std::string& repository, const std::string& tag_or_digest) const;

  void intercept(Intercept intercept);
  /// From now on every request is counted and its connection broken off: a registry that is down, seen from both ends.
  void hang_up(bool always = true);
  /// The next answer with a blob ends after so many bytes.
  void cut_next_blob_after(std::size_t bytes);
  void forget_tokens();
  /// "GET /v2/..." of every request so far, without queries.
  std::vector<std::string> requests() const;
  std::size_t count(std::string_view request) const;

 private:
  struct Repository {
    std::map<std::string, std::string> blobs;                              ///< by digest
    std::map<std::string, std::pair<std::string, std::string>> manifests;  ///< type and bytes, by tag and digest
  };

  void handle(const net::ServerRequest& request, const net::Responder& responder);
  net::Response answer(const net::ServerRequest& request);
  net::Response token(const net::ServerRequest& request);
  bool allowed(const net::ServerRequest& request, const std::string& repository, bool write) const;
  net::Response unauthorized(const std::string& repository) const;
  net::Response answer_manifest(const net::ServerRequest& request, Repository& repository, const std::string& name);
  net::Response answer_referrers(const net::ServerRequest& request, const Repository& repository,
                                 const std::string& digest) const;
  net::Response answer_blob(const net::ServerRequest& request, Repository& repository, const std::string& digest);
  net::Response start_upload(const net::ServerRequest& request, const std::string& name);
  net::Response continue_upload(const net::ServerRequest& request, const std::string& name, const std::string& id);

  Options options_;
  mutable std::mutex mutex_;
  std::map<std::string, Repository> repositories_;
  std::map<std::string, std::string> uploads_;
  std::set<std::string> tokens_;  ///< "TOKEN scope"
  int counter_ = 0;
  std::optional<std::size_t> cut_;
  bool hangs_up_ = false;
  std::vector<std::string> requests_;
  Intercept intercept_;
  std::unique_ptr<net::testing::TestServer> server_;
};

}  // namespace strake::oci::testing
