// Gate: decides who may have a config, from the token or client certificate a request shows.
//
// What the cluster says (stub::AccessBook) is put in place in one move; while the API is away the last one decides, and
// before there is one nobody gets in. A decision waits for nothing: uses of counted tokens are counted here, and what
// other servers counted is told from time to time.
//
// Each address may be refused so often; beyond that it hears 429. Whoever shows something good is served even then: a
// load balancer is one address, and looking at a token costs less than the answer that would turn it away.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/limits/rate_limiter.h"
#include "base/runtime.h"
#include "configserver/answer_book.h"
#include "net/http_server.h"
#include "stub/access_book.h"

namespace strake::configserver {

struct GateOptions {
  Rate refused{.per_second = 10, .burst = 200};  ///< for each address
  bool always_require = false;                   ///< whatever the cluster says, or when it says nothing
};

/// What the gate says to one request.
struct Pass {
  std::optional<Outcome> refusal;                      ///< nothing: it may have the config
  stub::Standing standing = stub::Standing::kNoToken;  ///< what was shown, also where nobody asks for it
  std::string credential;                              ///< id of the token, or the certificate's name; "" without
  std::string counted_token;                           ///< whose use was counted; "" for none
  std::string counted_address;                         ///< and for whom
  std::chrono::seconds retry_after{0};                 ///< with too many refusals
};

class Gate {
 public:
  explicit Gate(runtime::Runtime& runtime, GateOptions options = {});

  void set_book(std::shared_ptr<const stub::AccessBook> book);
  /// nullptr before the first.
  std::shared_ptr<const stub::AccessBook> book() const;
  /// As it counts here.
  std::optional<stub::AccessMode> mode() const;

  /// Of a GET the use of a counted token is counted; a second one from the same address within two minutes is the same
  /// use, since an answer may be lost on its way.
  Pass check(const net::ServerRequest& request, std::string_view pool);
  /// It passed, and there was no config to be had after all.
  void give_back(const Pass& pass);

  /// Uses counted here, of tokens that are still in the book.
  std::map<std::string, std::uint64_t> own_uses() const;
  /// Uses counted elsewhere, or here before the last start.
  void set_other_uses(std::map<std::string, std::uint64_t> uses);

 private:
  struct Judged {
    stub::Standing standing = stub::Standing::kNoToken;
    std::string credential;
    std::string counted_token;
  };
  Judged judge(const stub::AccessBook& book, const net::ServerRequest& request, std::string_view pool);
  Judged judge_token(const stub::AccessBook& book, const net::ServerRequest& request, std::string_view pool);
  using UseKey = std::pair<std::string, std::string>;  ///< token and address
  bool repeats_use(const UseKey& use, runtime::TimePoint now) const;
  void remember_use(const UseKey& use, runtime::TimePoint now);

  runtime::Runtime& runtime_;
  const GateOptions options_;
  mutable std::mutex mutex_;
  std::shared_ptr<const stub::AccessBook> book_;
  std::map<std::string, std::uint64_t> own_uses_;
  std::map<std::string, std::uint64_t> other_uses_;
  std::map<UseKey, runtime::TimePoint> recent_uses_;
  RateLimiter refusals_;
};

/// "192.0.2.7" of "192.0.2.7:40312" and of "[::ffff:192.0.2.7]:40312".
std::string address_of(std::string_view peer);
/// What one owner of an address has many of: an IPv6 address to its /64, an IPv4 address as it is.
std::string address_group(std::string_view address);

}  // namespace strake::configserver
