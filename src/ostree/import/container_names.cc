#include "ostree/import/container_names.h"

#include <array>
#include <utility>

#include "base/text.h"
#include "codec/utf8.h"
#include "ostree/key_file.h"

namespace strake::ostree {

namespace {

constexpr std::string_view kOriginSection = "origin";
constexpr std::string_view kOriginKey = "container-image-reference";

using Signature = ContainerReference::Signature;
using Transport = ContainerReference::Transport;

constexpr std::size_t kMaxReferenceBytes = 1024;
constexpr std::string_view kUnverifiedRegistry = "ostree-unverified-registry";
constexpr std::string_view kUnverifiedImage = "ostree-unverified-image";
constexpr std::string_view kSignedImage = "ostree-image-signed";
constexpr std::string_view kRemoteRegistry = "ostree-remote-registry";
constexpr std::string_view kRemoteImage = "ostree-remote-image";

constexpr std::array<std::pair<Transport, std::string_view>, 7> kTransports = {{
    {Transport::kRegistry, "docker"},
    {Transport::kOci, "oci"},
    {Transport::kOciArchive, "oci-archive"},
    {Transport::kDir, "dir"},
    {Transport::kDockerArchive, "docker-archive"},
    {Transport::kDockerDaemon, "docker-daemon"},
    {Transport::kContainersStorage, "containers-storage"},
}};

std::string_view transport_name(Transport transport) {
  for (const auto& [known, name] : kTransports) {
    if (known == transport) return name;
  }
  return "unknown";
}

Error no_reference(std::string_view text) {
  return error(Code::kInvalidArgument,
               "'{}' is no reference to an OS image: expected one like ostree-unverified-registry:quay.io/os/os:1 or "
               "ostree-unverified-image:oci:/folder:tag",
               clip_utf8(text, 200));
}

}  // namespace

std::string ContainerReference::image() const {
  return fmt::format("{}:{}{}", transport_name(transport), transport == Transport::kRegistry ? "//" : "", name);
}

std::string ContainerReference::to_string() const {
  switch (signature) {
    case Signature::kUnverified:
      if (transport == Transport::kRegistry) return fmt::format("{}:{}", kUnverifiedRegistry, name);
      return fmt::format("{}:{}", kUnverifiedImage, image());
    case Signature::kPolicy: return fmt::format("{}:{}", kSignedImage, image());
    case Signature::kRemote: return fmt::format("{}:{}:{}", kRemoteImage, remote, image());
  }
  return {};
}

Result<ContainerReference> parse_container_reference(std::string_view text) {
  if (text.size() > kMaxReferenceBytes) return no_reference(text);
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f') return no_reference(text);
  }
  std::string_view rest = text;
  const std::string_view scheme = take_until(rest, ':');
  ContainerReference reference;
  bool has_transport = true;
  if (scheme == kUnverifiedRegistry) {
    has_transport = false;
  } else if (scheme == kSignedImage) {
    reference.signature = Signature::kPolicy;
  } else if (scheme == kRemoteRegistry || scheme == kRemoteImage) {
    reference.signature = Signature::kRemote;
    reference.remote = take_until(rest, ':');
    if (reference.remote.empty()) return no_reference(text);
    has_transport = scheme == kRemoteImage;
  } else if (scheme != kUnverifiedImage) {
    return no_reference(text);
  }
  if (has_transport) {
    const std::string_view name = take_until(rest, ':');
    bool known = name == "registry";
    for (const auto& [transport, spelled] : kTransports) {
      if (spelled != name) continue;
      reference.transport = transport;
      known = true;
    }
    if (!known) return no_reference(text);
    if (name == "docker") {
      if (!rest.starts_with("//")) return no_reference(text);
      rest.remove_prefix(2);
    }
  }
  if (rest.empty()) return no_reference(text);
  reference.name = rest;
  return reference;
}

Result<std::string> escape_ref(std::string_view text) {
  const auto points = codec::decode_utf8(text);
  if (text.empty() || !points || text.find('\0') != std::string_view::npos) {
    return error(Code::kInvalidArgument, "'{}' cannot be part of an ostree ref", clip_utf8(text, 200));
  }
  std::string out;
  bool after_alphanumeric = false;
  for (std::size_t i = 0; i < points->size(); ++i) {
    const char32_t point = (*points)[i];
    const bool alphanumeric = point < 0x80 && is_alphanumeric(static_cast<char>(point));
    if (alphanumeric || point == U'-') {
      out += static_cast<char>(point);
    } else if (point == U'/' && after_alphanumeric && i + 1 < points->size()) {
      out += '/';
    } else if (point == U'_') {
      out += "__";
    } else {
      out += fmt::format("_{:02X}_", static_cast<std::uint32_t>(point));
    }
    after_alphanumeric = alphanumeric;
  }
  return out;
}

Result<std::string> unescape_ref(std::string_view text) {
  const auto refuse = [&] {
    return error(Code::kInvalidArgument, "'{}' is no escaped part of an ostree ref", clip_utf8(text, 200));
  };
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (is_alphanumeric(c) || c == '-' || c == '/') {
      out += c;
      continue;
    }
    if (c != '_') return refuse();
    const std::size_t end = rest.find('_');
    if (end == std::string_view::npos || end > 6) return refuse();
    std::uint32_t point = end == 0 ? U'_' : 0;
    for (const char digit : rest.substr(0, end)) {
      if (!is_hex_digit(digit)) return refuse();
      point = point * 16 + static_cast<std::uint32_t>(hex_digit_value(digit));
    }
    if (point == 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return refuse();
    codec::append_utf8(out, point);
    rest.remove_prefix(end + 1);
  }
  if (out.empty()) return refuse();
  return out;
}

std::string layer_ref(const codec::Digest& blob) {
  const Result<std::string> escaped = escape_ref(blob.to_string());
  STRAKE_INVARIANT(escaped.ok());
  return std::string(kLayerRefPrefix) + *escaped;
}

Result<std::string> image_ref(const ContainerReference& reference) {
  STRAKE_TRY(const std::string escaped, escape_ref(reference.image()));
  return std::string(kImageRefPrefix) + escaped;
}

std::string origin_text(const ContainerReference& reference) {
  std::string value;
  for (const char c : reference.to_string()) value += c == '\\' ? "\\\\" : std::string(1, c);
  return fmt::format("[{}]\n{}={}\n", kOriginSection, kOriginKey, value);
}

Result<ContainerReference> read_origin(std::string_view origin) {
  const auto value = key_file_value(origin, kOriginSection, kOriginKey);
  if (!value) return error(Code::kNotFound, "the origin names no image");
  std::string text;
  for (std::size_t i = 0; i < value->size(); ++i) {
    if ((*value)[i] == '\\' && i + 1 < value->size()) ++i;
    text += (*value)[i];
  }
  return parse_container_reference(text);
}

}  // namespace strake::ostree
