// A file of the source tree that is compiled into the program (see cmake/StrakeEmbed.cmake).
#pragma once

#include <string_view>

namespace strake::api {

struct EmbeddedFile {
  std::string_view name;  ///< without folders
  std::string_view contents;
};

}  // namespace strake::api
