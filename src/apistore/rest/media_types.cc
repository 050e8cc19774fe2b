// Content negotiation: what a client sends and what it accepts.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "apistore/rest/protobuf_body.h"
#include "apistore/rest/request.h"
#include "base/text.h"

namespace strake::apistore::rest {

namespace {

constexpr std::size_t kMaxMediaRanges = 32;

/// "application/json;as=Table;v=v1;q=0.9", taken apart.
struct MediaRange {
  std::string type;  ///< in lower case, "application/json"
  std::vector<std::pair<std::string, std::string>> parameters;
  double quality = 1;

  std::string_view parameter(std::string_view name) const {
    for (const auto& [key, value] : parameters) {
      if (key == name) return value;
    }
    return {};
  }
  bool is_json() const { return type == "application/json" || type == "application/*" || type == "*/*"; }
};

std::string_view take_piece(std::string_view& text, char separator) { return trimmed(take_until(text, separator)); }

MediaRange parse_media_range(std::string_view text) {
  MediaRange range;
  range.type = lower_case(take_piece(text, ';'));
  while (!text.empty()) {
    std::string_view parameter = take_piece(text, ';');
    const std::string name = lower_case(take_piece(parameter, '='));
    std::string_view value = trimmed(parameter);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    if (name == "q") {
      std::from_chars(value.data(), value.data() + value.size(), range.quality);
    } else if (!name.empty()) {
      range.parameters.emplace_back(name, value);
    }
  }
  return range;
}

/// Best first; the order of equals is the client's.
std::vector<MediaRange> accepted_ranges(const net::Headers& headers) {
  const auto better = [](const MediaRange& a, const MediaRange& b) { return a.quality > b.quality; };
  std::vector<MediaRange> ranges;
  for (std::string_view line : headers.all("Accept")) {
    while (!line.empty() && ranges.size() < kMaxMediaRanges) {
      const std::string_view piece = take_piece(line, ',');
      if (piece.empty()) continue;
      MediaRange range = parse_media_range(piece);
      const auto behind_equals = std::upper_bound(ranges.begin(), ranges.end(), range, better);
      ranges.insert(behind_equals, std::move(range));
    }
  }
  if (ranges.empty()) ranges.push_back({"*/*", {}, 1});
  return ranges;
}

/// nullopt when this range asks for something that is not served.
std::optional<Output> output_for(const MediaRange& range) {
  if (!range.is_json() || range.quality <= 0) return std::nullopt;
  Output output;
  output.pretty = range.parameter("pretty") == "1";
  if (const std::string_view stream = range.parameter("stream"); !stream.empty() && stream != "watch")
    return std::nullopt;
  const std::string_view as = range.parameter("as");
  if (as.empty()) {
    const bool converts = !range.parameter("g").empty() || !range.parameter("v").empty();
    if (converts) return std::nullopt;
    return output;
  }
  output.meta_version = std::string(range.parameter("v"));
  if (range.parameter("g") != "meta.k8s.io" || (output.meta_version != "v1" && output.meta_version != "v1beta1")) {
    return std::nullopt;
  }
  if (as == "Table") {
    output.shape = Shape::kTable;
  } else if (as == "PartialObjectMetadata" || as == "PartialObjectMetadataList") {
    output.shape = Shape::kMetadata;
  } else {
    return std::nullopt;
  }
  return output;
}

Error not_acceptable() {
  return error(Code::kUnsupported, "only the following media types are accepted: application/json")
      .with_reason("NotAcceptable");
}

Error unknown_body_format(std::string_view accepted) {
  return error(Code::kUnsupported,
               "the body of the request was in an unknown format - accepted media types include: {}", accepted)
      .with_reason("UnsupportedMediaType");
}

std::string body_type(const net::Headers& headers) {
  return parse_media_range(headers.get("Content-Type").value_or("")).type;
}

}  // namespace

Result<Output> negotiate_output(const net::Headers& headers, const net::Query& query) {
  for (const MediaRange& range : accepted_ranges(headers)) {
    std::optional<Output> output = output_for(range);
    if (!output) continue;
    if (const auto pretty = query.get("pretty")) output->pretty = *pretty == "1" || *pretty == "true";
    return *std::move(output);
  }
  return not_acceptable();
}

Status accepts_json(const net::Headers& headers) {
  const auto ranges = accepted_ranges(headers);
  const bool json = std::any_of(ranges.begin(), ranges.end(),
                                [](const MediaRange& range) { return range.is_json() && range.quality > 0; });
  return json ? Status() : not_acceptable();
}

Result<json::Value> read_body(const net::Headers& headers, std::string_view body) {
  const std::string type = body_type(headers);
  if (type.empty() || type == "application/json") return parse_json_body(body);
  if (type == kProtobufMediaType) return decode_protobuf_body(body);
  return unknown_body_format(fmt::format("application/json, {}", kProtobufMediaType));
}

Result<kube::PatchType> patch_type(const net::Headers& headers, const Kind& kind) {
  const std::string type = body_type(headers);
  if (type == "application/apply-patch+yaml" || type == "application/apply-patch+cbor") {
    return error(
               Code::kUnsupported,
               "server-side apply is not supported by the embedded API server; use kubectl apply without --server-side")
        .with_reason("UnsupportedMediaType");
  }
  std::string accepted;
  for (const kube::PatchType candidate :
       {kube::PatchType::kJson, kube::PatchType::kMerge, kube::PatchType::kStrategic}) {
    if (candidate == kube::PatchType::kStrategic && !kind.builtin) continue;
    if (type == kube::content_type(candidate)) return candidate;
    accepted += fmt::format("{}{}", accepted.empty() ? "" : ", ", kube::content_type(candidate));
  }
  return unknown_body_format(accepted);
}

}  // namespace strake::apistore::rest
