// Where the next page of a list begins, as the opaque text clients send back.
#pragma once

#include <string>
#include <string_view>

#include "apistore/store/store_types.h"
#include "base/result.h"

namespace strake::apistore {

struct ContinueToken {
  Revision revision = 0;  ///< every page shows the state at this revision
  std::string ns;         ///< the last object of the page before
  std::string name;

  std::string encode() const;
  /// kInvalidArgument for anything this server did not write.
  static Result<ContinueToken> decode(std::string_view text);

  bool operator==(const ContinueToken&) const = default;
};

}  // namespace strake::apistore
