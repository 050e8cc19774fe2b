#include "api/kinds.h"
#include "base/visible_text.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/os_images.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "cmd/output/result_document.h"
#include "osimage/listing.h"

namespace strake::cmd {

namespace {

constexpr ArgumentSpec kOsLsArguments[] = {kOsImageArgument, {"PATH", "a folder or file; default: /", false}};
constexpr OptionSpec kOsLsOwnOptions[] = {
    {"R,recursive", "", "folders with everything in them"},
    {"l,long", "", "mode, owner, size and link target too"},
    {"d,directory", "", "the folder itself, not what is in it"},
    {"ostree", "", "print exactly what `ostree ls` prints of the commit"},
    {"X,xattrs", "", "with --ostree: extended attributes"},
    {"C,checksum", "", "with --ostree: checksums"},
    kOutputOption,
};
constexpr auto kOsLsOptions = join_options(kOsLsOwnOptions, kOsOptions, kImageOptions);

enum class ListingForm { kPeople, kJson, kOstree };

constexpr std::string_view kOsListingKind = "OsListing";

/// Lines for people, or a JSON document with one entry a line: neither waits for the end. What was cut off has no
/// "result".
class ListingOutput {
 public:
  ListingOutput(Output& out, ListingForm form) : out_(out), form_(form) {}

  void add(std::string_view line) {
    switch (form_) {
      case ListingForm::kPeople: out_.text(fmt::format("{}\n", line)); break;
      case ListingForm::kOstree: out_.document(fmt::format("{}\n", line)); break;
      case ListingForm::kJson: out_.document(fmt::format("{}{}", begun_ ? ",\n" : kJsonHead, line)); break;
    }
    begun_ = true;
  }
  void finish() {
    if (form_ != ListingForm::kJson) return;
    if (!begun_) out_.document(kJsonHead);
    out_.document(fmt::format("\n], \"result\": \"{}\"}}\n", kResultOk));
  }

 private:
  inline static const std::string kJsonHead = fmt::format(
      "{{\"apiVersion\": \"{}\", \"kind\": \"{}\", \"entries\": [\n", api::kStrakeApiVersion, kOsListingKind);

  Output& out_;
  ListingForm form_;
  bool begun_ = false;
};

Status check_ls_options(const Invocation& invocation, bool as_json) {
  const bool ostree = invocation.is_set("ostree");
  if (!ostree && (invocation.is_set("xattrs") || invocation.is_set("checksum"))) {
    return error(Code::kInvalidArgument, "-X and -C are columns of --ostree; -o json -l shows both as well");
  }
  if (ostree && (as_json || invocation.is_set("long"))) {
    return error(Code::kInvalidArgument, "--ostree is a form of its own: it goes with neither -o json nor -l");
  }
  return {};
}

/// Only what is shown: in a chunked image everything else would be read for nothing.
Status load_shown(osimage::OsImage& image, const osimage::OsImage::Found& found, const Invocation& invocation,
                  const runtime::Call& call) {
  std::vector<std::string> paths = {found.path};
  const auto collect = [&](const std::string& path, const osimage::OsNode&) -> Status {
    paths.push_back(path);
    return {};
  };
  if (!invocation.is_set("directory")) {
    STRAKE_CHECK_OK(
        walk_nodes(found.path, *found.node, invocation.is_set("recursive"), osimage::NodeOrder::kByName, collect));
  }
  return image.load_details(paths, call);
}

Result<int> list_os_image(const Invocation& invocation, bool as_json) {
  using osimage::NodeOrder;
  using osimage::OsNode;
  STRAKE_CHECK_OK(check_ls_options(invocation, as_json));
  STRAKE_TRY(const auto access, ImageAccess::create(invocation));
  STRAKE_TRY(const auto image, open_os_image(*access, invocation, invocation.value("IMAGE")));
  const bool ostree = invocation.is_set("ostree");
  const osimage::OstreeColumns columns{.checksum = invocation.is_set("checksum"),
                                       .xattrs = invocation.is_set("xattrs")};
  if (columns.checksum && !image->tree().root().checksum) {
    return error(Code::kInvalidArgument, "{}: only a commit has checksums, and this is {}", invocation.value("IMAGE"),
                 image->facts().derived_layers > 0 ? "one with layers built on it; --base shows it without them"
                                                   : "a plain image");
  }
  const std::string& asked = invocation.value("PATH");
  STRAKE_TRY(const osimage::OsImage::Found found,
             blocked_when_absent(image->resolve(asked, osimage::OsImage::LastLink::kKeep, access->call())));
  const bool details = ostree || invocation.is_set("long");
  if (details) STRAKE_CHECK_OK(load_shown(*image, found, invocation, access->call()));
  const bool recursive = invocation.is_set("recursive");
  ListingOutput output(invocation.out(),
                       as_json ? ListingForm::kJson : (ostree ? ListingForm::kOstree : ListingForm::kPeople));
  // Whole paths where entries of several folders mix, else the name alone.
  const auto show = [&](const std::string& path, const OsNode& node) -> Status {
    const std::string whole = "/" + path;
    if (as_json) {
      output.add(json::write(osimage::node_json(whole, node)));
    } else if (ostree) {
      output.add(osimage::ostree_line(whole, node, columns));
    } else {
      const std::string_view name = recursive || path == found.path ? whole : osimage::name_of(path);
      const bool slash = node.is_directory() && !name.ends_with('/');
      output.add(details ? osimage::long_line(name, node) : visible_line(name) + (slash ? "/" : ""));
    }
    return {};
  };
  const bool itself = ostree || !found.node->is_directory() || invocation.is_set("directory");
  if (itself) STRAKE_CHECK_OK(show(found.path, *found.node));
  if (!invocation.is_set("directory")) {
    STRAKE_CHECK_OK(
        walk_nodes(found.path, *found.node, recursive, ostree ? NodeOrder::kFoldersLast : NodeOrder::kByName, show));
  }
  output.finish();
  return kExitOk;
}

Result<int> run_os_ls(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  // Nothing is listed before all of it is known, so that no failure comes behind the first entry.
  return run_with_result(invocation, kOsListingKind, as_json, [&] { return list_os_image(invocation, as_json); });
}

constexpr ExitMeaning kOsLsExits[] = {{kExitOk, "listed"}, kPathAbsent, kRegistryUnreachable, kImageNotGenuine};

}  // namespace

const CommandSpec kOsLsCommand{
    "os ls",
    "List the files of an OS image without unpacking it.",
    "Images of every form: plain and bootc images, ostree-native ones (of which names are read from the commit layer "
    "alone, a few percent of the image), the older machine-os-content, and ostree repositories on disk. What a layer "
    "holds is kept in the cache, so the next listing reads no layer. Every layer is hashed to its end, and every "
    "ostree object compared with its checksum, before its names are shown.\n\n"
    "  strake os ls quay.io/org/os:4.20 /usr/lib/modules\n"
    "  strake os ls ./layout -R -l\n"
    "  strake os ls ostree:/srv/repo:fedora/stable / -R --ostree -X -C    as `ostree ls` prints it\n\n"
    "In an ostree commit /etc is kept at /usr/etc; both names work. A link at the end of PATH is shown, not followed; "
    "with a slash behind it is.",
    kOsLsArguments,
    kOsLsOptions,
    run_os_ls,
    kOsLsExits};

}  // namespace strake::cmd
