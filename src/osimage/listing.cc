#include "osimage/listing.h"

#include <sys/stat.h>

#include "base/visible_text.h"
#include "codec/base64.h"
#include "codec/utf8.h"

namespace strake::osimage {

namespace {

char type_letter(NodeType type) {
  switch (type) {
    case NodeType::kDirectory: return 'd';
    case NodeType::kFile: return '-';
    case NodeType::kSymlink: return 'l';
    case NodeType::kCharacterDevice: return 'c';
    case NodeType::kBlockDevice: return 'b';
    case NodeType::kFifo: return 'p';
    case NodeType::kFileOrSymlink: return '?';
  }
  return '?';
}

}  // namespace

std::string mode_text(const OsNode& node) {
  std::string text(10, '-');
  text[0] = type_letter(node.type);
  constexpr std::string_view kLetters = "rwxrwxrwx";
  for (std::size_t i = 0; i < kLetters.size(); ++i) {
    if ((node.mode & (0400u >> i)) != 0) text[i + 1] = kLetters[i];
  }
  const auto special = [&](std::uint32_t bit, std::size_t at, char with_execute, char without) {
    if ((node.mode & bit) != 0) text[at] = text[at] == 'x' ? with_execute : without;
  };
  special(S_ISUID, 3, 's', 'S');
  special(S_ISGID, 6, 's', 'S');
  special(S_ISVTX, 9, 't', 'T');
  return text;
}

std::string long_line(std::string_view path, const OsNode& node) {
  std::string line = fmt::format("{} {:>5} {:>5} {:>10} {}{}", mode_text(node), node.uid, node.gid, node.size,
                                 visible_line(path), node.is_directory() && !path.ends_with('/') ? "/" : "");
  if (node.type == NodeType::kSymlink) line += " -> " + visible_line(node.link_target);
  return line;
}

std::string ostree_line(std::string_view path, const OsNode& node, const OstreeColumns& columns) {
  std::string line = fmt::format("{}{:05o} {} {} {:6} ", type_letter(node.type), node.mode, node.uid, node.gid,
                                 node.type == NodeType::kFile ? node.size : 0);
  if (columns.checksum) {
    if (node.checksum) line += node.checksum->hex() + " ";
    if (node.meta_checksum) line += node.meta_checksum->hex() + " ";
  }
  if (columns.xattrs) line += fmt::format("{{ {} }} ", ostree::print_xattrs(node.xattrs.get()));
  line += path;
  if (node.type == NodeType::kSymlink) line += " -> " + node.link_target;
  return line;
}

json::Object node_json(std::string_view path, const OsNode& node) {
  // JSON is text: a name in another encoding is given as bytes, so that no two names look the same.
  json::Object object;
  const auto put_text = [&](std::string_view key, std::string_view text) {
    if (codec::is_valid_utf8(text)) {
      object[key] = std::string(text);
    } else {
      object[std::string(key) + "Base64"] = codec::encode_base64(text);
    }
  };
  put_text("path", path);
  object["type"] = std::string(to_string(node.type));
  if (node.type != NodeType::kFileOrSymlink) {
    object["mode"] = fmt::format("{:04o}", node.mode);
    object["uid"] = node.uid;
    object["gid"] = node.gid;
    if (node.type == NodeType::kFile) object["size"] = node.size;
    if (node.type == NodeType::kSymlink) put_text("target", node.link_target);
    if (!node.xattrs.get().empty()) {
      json::Object xattrs;
      for (const ostree::Xattr& xattr : node.xattrs.get()) xattrs[xattr.name] = codec::encode_base64(xattr.value);
      object["xattrs"] = std::move(xattrs);
    }
  }
  if (node.checksum) object["checksum"] = node.checksum->hex();
  if (node.meta_checksum) object["metaChecksum"] = node.meta_checksum->hex();
  return object;
}

}  // namespace strake::osimage
