#include "stub/check.h"

#include <algorithm>
#include <optional>

#include "base/time.h"

namespace strake::stub {

namespace {

std::string named(const net::Certificate& certificate) {
  const net::CertificateInfo& info = certificate.info();
  return fmt::format("'{}' (SHA-256 {}...)", info.common_name, info.sha256.substr(0, 16));
}

std::optional<StubFinding> end_of(const net::Certificate& certificate, std::chrono::sys_seconds now,
                                  std::string_view rule, std::string_view what, std::string_view next) {
  const auto end = certificate.info().not_after;
  if (end > now + kEndsSoon) return std::nullopt;
  const bool over = end <= now;
  return StubFinding{
      over ? Severity::kError : Severity::kWarning, rule,
      fmt::format("the {} {} {} {}", what, named(certificate), over ? "ended" : "ends", format_rfc3339(end)),
      std::string(next)};
}

constexpr std::string_view kNewCertificate =
    "put a new one into Secret machine-config-server-tls, signed by an authority the stubs trust";

class StubChecker {
 public:
  explicit StubChecker(const StubCheckInput& input) : input_(input) {}

  std::vector<StubFinding> run() {
    check_spec();
    check_pointers();
    check_authorities();
    if (input_.server != nullptr && !input_.server->chain.empty()) check_server();
    std::ranges::stable_sort(findings_, std::ranges::greater{}, &StubFinding::severity);
    return std::move(findings_);
  }

 private:
  void add(Severity severity, std::string_view rule, std::string what, std::string next) {
    findings_.push_back({severity, rule, std::move(what), std::move(next)});
  }

  void check_spec() {
    if (input_.stub.version.major >= 3) return;
    add(Severity::kError, stub_rule::kOldSpec,
        fmt::format("it is of spec {}, which no image since 4.6 reads", ignition::to_string(input_.stub.version)),
        "convert it: strake stub convert");
  }

  void check_pointers() {
    if (!input_.stub.points_to_config_server()) {
      add(Severity::kWarning, stub_rule::kNoPointer, "it names no config server (https://HOST:PORT/config/POOL)",
          "nothing, if the machine is to get no more than this");
    }
    for (const Pointer& pointer : input_.stub.pointers) {
      if (pointer.scheme == "http") {
        add(Severity::kError, stub_rule::kNotHttps, fmt::format("{} is fetched without TLS", pointer.host),
            "write https: a config holds secrets, and whoever is on the way could change it");
      }
      if (pointer.pool.empty()) continue;
      if (input_.pools && std::ranges::find(*input_.pools, pointer.pool) == input_.pools->end()) {
        add(Severity::kError, stub_rule::kNoPool, fmt::format("the cluster has no pool '{}'", pointer.pool),
            "make the pool, or write the name of one that is there");
      }
      if (input_.access != nullptr) check_token(pointer, *input_.access);
    }
  }

  /// Where tokens are not required yet, one that would not do is a warning, and none is nothing.
  void check_token(const Pointer& pointer, const AccessBook& access) {
    constexpr std::string_view kNewOne = "give it another: strake stub token create --into STUB";
    const bool required = access.mode() == AccessMode::kRequire;
    const Severity severity = required ? Severity::kError : Severity::kWarning;
    if (!pointer.has_token) {
      if (!required) return;
      const bool could = input_.stub.version >= kFirstWithHeaders;
      return add(severity, stub_rule::kNoToken, "it carries no token, and the config server asks for one",
                 could ? "give it one: strake stub token create --into STUB"
                       : "it cannot carry one: convert it first, strake stub convert");
    }
    const TokenRecord* record = access.find_by_hash(pointer.token_sha256);
    if (record == nullptr) {
      return add(severity, stub_rule::kBadToken, "the config server does not know its token", std::string(kNewOne));
    }
    std::uint64_t uses = 0;
    if (input_.uses != nullptr) {
      if (const auto known = input_.uses->find(record->id); known != input_.uses->end()) uses = known->second;
    }
    const std::string ends = format_rfc3339(record->expires);
    switch (judge_token(*record, pointer.pool, input_.now, uses)) {
      case Standing::kTokenRevoked:
        return add(severity, stub_rule::kBadToken,
                   fmt::format("its token {} was revoked {}", record->id, format_rfc3339(*record->revoked)),
                   std::string(kNewOne));
      case Standing::kTokenUsedUp:
        return add(
            severity, stub_rule::kBadToken,
            fmt::format("its token {} was good for {} uses, and they are used up", record->id, *record->max_uses),
            std::string(kNewOne));
      case Standing::kWrongPool:
        return add(
            severity, stub_rule::kWrongPool,
            fmt::format("its token {} is for pool '{}', and it asks for '{}'", record->id, record->pool, pointer.pool),
            std::string(kNewOne));
      case Standing::kTokenExpired:
        return add(severity, stub_rule::kTokenEnds, fmt::format("its token {} ended {}", record->id, ends),
                   std::string(kNewOne));
      case Standing::kGood:
      case Standing::kNoToken:
      case Standing::kBadToken:
      case Standing::kBadCertificate: break;
    }
    if (!renewal_due(*record, input_.now)) return;
    add(Severity::kWarning, stub_rule::kTokenEnds, fmt::format("its token {} ends {}", record->id, ends),
        std::string(kNewOne));
  }

  void check_authorities() {
    const bool by_tls =
        std::ranges::any_of(input_.stub.pointers, [](const Pointer& pointer) { return pointer.scheme == "https"; });
    if (by_tls && input_.stub.authorities.empty()) {
      add(Severity::kWarning, stub_rule::kNoAuthority,
          "it brings no certificate authority: the machine trusts what its image trusts",
          "add the config server's authority, unless a public one signed its certificate");
    }
    for (std::size_t i = 0; i < input_.stub.authorities.size(); ++i) {
      const Authority& authority = input_.stub.authorities[i];
      if (!authority.problem.empty()) {
        add(Severity::kError, stub_rule::kBadAuthority,
            fmt::format("ignition.security.tls.certificateAuthorities[{}]: {}", i, authority.problem),
            "put the PEM of the config server's authority there");
      }
      for (const net::Certificate& certificate : authority.certificates) {
        check_end(certificate, stub_rule::kAuthorityEnds, "authority",
                  "put a newer one into the stub beside it, before the server shows a certificate of that one");
      }
    }
  }

  void check_end(const net::Certificate& certificate, std::string_view rule, std::string_view what,
                 std::string_view next) {
    if (auto finding = end_of(certificate, input_.now, rule, what, next)) findings_.push_back(*std::move(finding));
  }

  void check_server() {
    const net::Certificate& own = input_.server->chain.front();
    check_end(own, stub_rule::kServerEnds, "server's certificate", kNewCertificate);
    for (const Pointer& pointer : input_.stub.pointers) {
      if (pointer.pool.empty() || pointer.scheme != "https") continue;
      if (const Status host = net::check_host(own, pointer.host); !host.ok()) {
        const net::CertificateInfo& info = own.info();
        const bool nameless = info.dns_names.empty() && info.ip_addresses.empty();
        add(Severity::kError, stub_rule::kUnknownHost,
            nameless ? fmt::format("the server's certificate has a common name only ('{}'), which programs of the last "
                                   "years do not look at",
                                   info.common_name)
                     : fmt::format("the server's certificate is not for {}", pointer.host),
            "issue one with that host as a subject alternative name");
      }
    }
    if (input_.stub.authorities.empty()) return;
    const std::vector<net::Certificate> trusted = input_.stub.trusted();
    const std::span<const net::Certificate> intermediates(input_.server->chain);
    const Status chain =
        net::verify_chain(own, intermediates.subspan(1), trusted, input_.now, net::CertificatePurpose::kServer);
    const bool ended = own.info().not_after <= input_.now;  // said already
    if (!chain.ok() && !ended) {
      add(Severity::kError, stub_rule::kUntrusted,
          fmt::format("it does not trust the server, whose certificate {} was issued by {}", named(own),
                      own.info().issuer),
          "put the server's authority into the stub, beside the present one");
    }
  }

  const StubCheckInput& input_;
  std::vector<StubFinding> findings_;
};

}  // namespace

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::kFine: return "ok";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "unknown";
}

std::vector<StubFinding> check_stub(const StubCheckInput& input) { return StubChecker(input).run(); }

std::vector<StubFinding> check_server_certificate(const net::Certificate& certificate, std::chrono::sys_seconds now) {
  std::vector<StubFinding> findings;
  const net::CertificateInfo& info = certificate.info();
  if (info.dns_names.empty() && info.ip_addresses.empty()) {
    findings.push_back(
        {Severity::kError, stub_rule::kUnknownHost,
         fmt::format("the certificate has a common name only ('{}'), which programs of the last years do "
                     "not look at",
                     info.common_name),
         "issue one with the host of the stubs as a subject alternative name"});
  }
  if (auto end = end_of(certificate, now, stub_rule::kServerEnds, "server's certificate", kNewCertificate)) {
    findings.push_back(*std::move(end));
  }
  return findings;
}

bool is_about_trust(std::string_view rule) {
  using namespace stub_rule;
  for (const std::string_view about : {kUnreadable, kNotHttps, kNoAuthority, kBadAuthority, kAuthorityEnds,
                                       kUnknownHost, kUntrusted, kServerEnds, kNoAnswer, kNoCertificate}) {
    if (rule == about) return true;
  }
  return false;
}

bool is_about_tokens(std::string_view rule) {
  using namespace stub_rule;
  return rule == kNoToken || rule == kBadToken || rule == kWrongPool || rule == kTokenEnds;
}

Severity worst_of(std::span<const StubFinding> findings) {
  Severity worst = Severity::kFine;
  for (const StubFinding& finding : findings) worst = std::max(worst, finding.severity);
  return worst;
}

}  // namespace strake::stub
