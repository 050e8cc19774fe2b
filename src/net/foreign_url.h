// URLs somebody else wrote: into a release, into its metadata, into the answer of a server. Whoever can write them must
// not be able to make this program ask services of this machine or of its link, read its files, or say something to
// them. So such a URL is followed only when it is http or https and leads elsewhere:
//
//   by its text      file URLs and addresses of this machine or link are refused, however they are written (127.1,
//                    2130706433, 0x7f.1, [::ffff:127.0.0.1], localhost)
//   by its address   a name that turns out to be such an address is refused before a connection is made
//   at every step    of a chain of redirects
//
// Private addresses (10.0.0.0/8 and the like) are not refused: that is where mirrors are. What the user allows by a
// prefix of the URL is followed wherever it leads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct sockaddr;

namespace strake::net {

struct ForeignUrlRules {
  std::vector<std::string> allowed_prefixes = {};  ///< http, https or file URLs; at the borders of path segments
};

/// kInvalidArgument says what a prefix looks like.
Status check_location_prefix(std::string_view prefix);

/// By its text. kDenied ("blocked") says why it is not followed; kInvalidArgument: it is no URL.
Status check_foreign_url(std::string_view url, const ForeignUrlRules& rules);
bool is_allowed_location(std::string_view url, const ForeignUrlRules& rules);

/// "this machine", "this link", ...; "" for addresses that may be asked.
std::string_view forbidden_address(const sockaddr& address);

/// How a refusal reads, for whoever finds the address later than by its text.
Error foreign_url_refused(std::string_view url, std::string_view leads_to);

}  // namespace strake::net
