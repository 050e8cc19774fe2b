// A certificate with its key that a process on the authority's own machine uses, kept in the authority's folder.
//
// It is made again when a file is missing or damaged, when it does not cover what is asked for now, when the authority
// does not vouch for it any more, and when less than a third of its life is left.
#pragma once

#include <chrono>
#include <string>

#include "pki/authority.h"

namespace strake::pki {

class KeptIdentity {
 public:
  static Result<KeptIdentity> open(const Authority& authority, std::string name, Subject subject,
                                   std::chrono::hours lifetime, Random& random, WallTime now);

  const PemPair& pair() const { return pair_; }

  /// To be called now and then. True when it is a new one.
  Result<bool> renew(const Authority& authority, Random& random, WallTime now);

 private:
  KeptIdentity(std::string name, Subject subject, std::chrono::hours lifetime)
      : name_(std::move(name)), subject_(std::move(subject)), lifetime_(lifetime) {}
  bool still_good(const Authority& authority, WallTime now) const;

  std::string name_;
  Subject subject_;
  std::chrono::hours lifetime_;
  PemPair pair_;
};

}  // namespace strake::pki
