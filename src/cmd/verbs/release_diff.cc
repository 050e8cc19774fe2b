#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/os_images.h"
#include "cmd/input/release_input.h"
#include "cmd/output/format.h"
#include "cmd/output/result_document.h"
#include "osimage/difference.h"
#include "release/payload_difference.h"

namespace strake::cmd {

namespace {

constexpr ArgumentSpec kReleaseDiffArguments[] = {{"BEFORE", kReleaseArgumentHelp},
                                                  {"AFTER", "the same for the other"}};
constexpr std::string_view kReleaseDiffKind = "ReleaseDifference";
constexpr std::string_view kReleaseDiffParts[] = {"components", "os", "bootimages", "manifests"};
constexpr OptionSpec kReleaseDiffOwnOptions[] = {
    {"only", "LIST", "of components, os, bootimages, manifests; default: all", "", kListValue},
    kOutputOption,
    kImageArchOption};
constexpr auto kReleaseDiffOptions = join_options(kReleaseDiffOwnOptions, kImageOptions);

/// The OS image of one stream in both releases.
struct OsStreamDifference {
  std::string stream;
  release::Component before;
  release::Component after;
  std::optional<osimage::Difference> inside{};
  std::string not_compared{};  ///< why
};

class ReleaseDiff {
 public:
  ReleaseDiff(const Invocation& invocation, ImageAccess& access) : invocation_(invocation), access_(access) {}

  Result<int> run() {
    STRAKE_CHECK_OK(choose_parts());
    STRAKE_TRY(const Side before, read(invocation_.value("BEFORE")));
    STRAKE_TRY(const Side after, read(invocation_.value("AFTER")));
    release::PayloadDifference difference = release::compare_payloads(before.payload, after.payload);
    release::keep_parts(difference, {wants("components"), wants("bootimages"), wants("manifests")});
    std::vector<OsStreamDifference> os;
    if (wants("os") && !difference.same_image) {
      STRAKE_TRY(os, compare_os(before, after));
    }
    const bool differs = difference.any() || !os.empty();
    if (wants_json(invocation_)) {
      json::Object body = release::payload_difference_json(before.payload, after.payload, difference);
      body["differs"] = differs;
      body["osImages"] = os_json(os);
      invocation_.out().document(json::write_pretty(result_document(kReleaseDiffKind, kResultOk, std::move(body))));
    } else {
      invocation_.out().text(release::describe_payload_difference(before.payload, after.payload, difference) +
                             os_text(os));
    }
    return differs ? kExitDiffers : kExitOk;
  }

 private:
  struct Side {
    std::unique_ptr<release::ReleasePlace> place;
    release::ReleasePayload payload;
  };

  Status choose_parts() {
    for (const std::string& part : invocation_.list("only")) {
      if (std::ranges::find(kReleaseDiffParts, part) == std::end(kReleaseDiffParts)) {
        return error(Code::kInvalidArgument, "--only {}: expected some of {}", part,
                     fmt::join(kReleaseDiffParts, ", "));
      }
      parts_.insert(part);
    }
    return {};
  }
  bool wants(std::string_view part) const { return parts_.empty() || parts_.contains(part); }

  /// OS images are not hashed for this: what is read of them later is checked then.
  Result<Side> read(const std::string& text) {
    STRAKE_TRY(std::unique_ptr<release::ReleasePlace> place, open_release(access_, text));
    const release::PayloadOptions options{access_.platform(), release::OsImageCheck::kLabels, access_.cache()};
    STRAKE_TRY(release::ReleasePayload payload,
               release::read_payload(*place, options, access_.runtime(), access_.call()));
    return Side{std::move(place), std::move(payload)};
  }

  Result<std::vector<OsStreamDifference>> compare_os(const Side& before, const Side& after) {
    std::vector<OsStreamDifference> all;
    for (const release::OsStream& old : before.payload.os_streams) {
      const release::OsStream* now = after.payload.find_stream(old.name);
      if (now == nullptr || now->image.digest == old.image.digest) continue;
      OsStreamDifference difference{old.name, old.image, now->image};
      Result<osimage::Difference> inside = compare_inside(before, after, difference);
      if (inside.ok()) {
        difference.inside = *std::move(inside);
      } else if (inside.error().code() == Code::kNotFound || inside.error().code() == Code::kUnsupported ||
                 inside.error().code() == Code::kInvalidArgument) {
        // It is not here, or is no OS this program looks into: the rest of the answer stands.
        difference.not_compared = inside.error().to_string();
      } else {
        return std::move(inside).error();
      }
      all.push_back(std::move(difference));
    }
    return all;
  }

  Result<osimage::Difference> compare_inside(const Side& before, const Side& after,
                                             const OsStreamDifference& difference) {
    STRAKE_TRY(const auto old, open_component_os(access_, *before.place, difference.before));
    STRAKE_TRY(const auto now, open_component_os(access_, *after.place, difference.after));
    return osimage::compare_images(*old, *now, {.files = false, .packages = true}, access_.call());
  }

  static json::Array os_json(const std::vector<OsStreamDifference>& all) {
    json::Array items;
    for (const OsStreamDifference& os : all) {
      json::Object item{{"stream", os.stream},
                        {"component", os.after.tag},
                        {"before", os.before.digest.to_string()},
                        {"after", os.after.digest.to_string()}};
      if (!os.not_compared.empty()) item["notCompared"] = os.not_compared;
      if (os.inside) {
        json::Object inside = osimage::difference_json(*os.inside);
        item["packages"] = std::move(inside["packages"]);
        if (inside.contains("kernels")) item["kernels"] = std::move(inside["kernels"]);
      }
      items.push_back(std::move(item));
    }
    return items;
  }

  static std::string os_text(const std::vector<OsStreamDifference>& all) {
    std::string text;
    for (const OsStreamDifference& os : all) {
      text += fmt::format("\nOS {} ({}): {} -> {}\n", os.stream, os.after.tag, os.before.digest.to_string(),
                          os.after.digest.to_string());
      if (!os.not_compared.empty()) text += fmt::format("not compared: {}\n", os.not_compared);
      if (!os.inside) continue;
      const std::string inside = osimage::describe_difference(*os.inside);
      text += inside.empty() ? "The same kernels and packages.\n" : inside;
    }
    return text;
  }

  const Invocation& invocation_;
  ImageAccess& access_;
  std::set<std::string, std::less<>> parts_;
};

Result<int> run_release_diff(const Invocation& invocation) {
  STRAKE_TRY(const std::unique_ptr<ImageAccess> access, ImageAccess::create(invocation));
  return run_with_result(invocation, kReleaseDiffKind, wants_json(invocation),
                         [&] { return ReleaseDiff(invocation, *access).run(); });
}

constexpr ExitMeaning kReleaseDiffExits[] = {{kExitOk, "nothing that was asked for differs"},
                                             {kExitDiffers, "something does; it says what"},
                                             kImageAbsent,
                                             kRegistryUnreachable,
                                             kImageNotGenuine};

}  // namespace

const CommandSpec kReleaseDiffCommand{
    "release diff",
    "Show what differs between two releases: components, OS packages and kernel, boot images, manifests.",
    "Components by digest, with the versions they declare; of OS images that differ the packages and kernels inside "
    "(`strake os diff` shows their files); boot images by platform; manifests by name. Only what the answer needs is "
    "read: without os in --only no OS image is opened, and of one the layers with its package database.\n\n"
    "  strake release diff quay.io/org/release:4.21.0-x86_64 quay.io/org/release:4.21.1-x86_64\n"
    "  strake release diff ./old.tar ./new.tar --only components,bootimages -o json",
    kReleaseDiffArguments,
    kReleaseDiffOptions,
    run_release_diff,
    kReleaseDiffExits};

}  // namespace strake::cmd
