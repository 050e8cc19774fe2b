// Which line of which file a field of an object stands on, for findings and errors about objects that came from files.
//
// Only the way to each object is kept (file, document, item of a list), not the text: a file is read again when
// somebody asks about it. What cannot be read twice, standard input and pipes, is kept.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json_locate.h"
#include "codec/yaml.h"
#include "kube/object.h"

namespace strake::cmd {

/// The largest input that is read, and its limits as YAML.
inline constexpr std::size_t kMaxInputBytes = std::size_t{256} << 20;
yaml::ParseLimits input_limits();

struct SourcePlace {
  std::string file;      ///< as it is shown: "dir/site.yaml", "standard input"; empty when nobody knows
  std::size_t line = 0;  ///< 1-based

  bool is_known() const { return !file.empty(); }
  /// "dir/site.yaml:12"; empty when nobody knows.
  std::string to_string() const;
  auto operator<=>(const SourcePlace&) const = default;
};

/// A field of an object, by the object's kind and name; with its namespace where it has one: "ns/name".
struct SourceField {
  std::string kind;
  std::string name;
  json::Steps field = {};  ///< {"metadata", "labels"}, {"items", "[2]"}; empty: the object itself
};

class SourceLines {
 public:
  /// How an object was come by.
  struct Origin {
    std::string path;          ///< as it was opened; "-" for standard input
    std::size_t document = 0;  ///< of its stream
    std::size_t line = 1;      ///< where the document starts
    json::Steps inside = {};   ///< the way to the object in the document: {"items", "[2]"}
    bool is_butane = false;    ///< the document is a Butane config, and the object what it gives

    /// "site.yaml:12", or "site.yaml:12: items[2]"
    std::string to_string() const;
  };

  /// The whole of a file, kept when it cannot be read again.
  Result<std::string> read(const std::string& path);

  /// False when an object of this kind and name is known already.
  bool add(const kube::Object& object, Origin origin);
  const Origin* find_object(std::string_view kind, std::string_view name) const;

  /// Where each field's name stands, in the order asked; where a field is missing, the nearest field around it that
  /// exists. When the file has changed or cannot be read any more: where the document started. Each file is read once.
  std::vector<SourcePlace> find(std::span<const SourceField> fields) const;
  SourcePlace find(const SourceField& field) const;

  /// Everything that was read, in that order.
  const std::vector<std::string>& paths() const { return paths_; }
  /// The text of one of them, once more.
  Result<std::string> text_of(const std::string& path) const;

 private:
  std::vector<std::string> paths_;
  std::map<std::string, std::string> kept_;                                   ///< by path
  std::map<std::pair<std::string, std::string>, Origin, std::less<>> known_;  ///< by kind and name
};

}  // namespace strake::cmd
