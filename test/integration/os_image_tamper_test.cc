// OS images changed by somebody who can write to a mirror: every change is refused, and the message names what differs.
#include <algorithm>
#include <fstream>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "base/fd.h"
#include "integration/os_image_fixture.h"

namespace strake::test {
namespace {

using std::filesystem::path;

constexpr const char* kAllDetails[] = {"/", "-R", "--ostree", "-X"};
constexpr std::size_t kMaxObjectBytes = 64u << 20;

class OsImageTampered : public OsImageFixture {
 protected:
  /// Listing everything fails, as malformed or as not genuine, shows nothing, and says this.
  /// 6 where bytes are not those that were promised, 1 where the promises contradict each other or something is
  /// missing.
  void expect_refused(const std::string& image, const std::string& says, int exit_code) const {
    Lines list{"ls", image};
    list.insert(list.end(), std::begin(kAllDetails), std::end(kAllDetails));
    const ProcessOutput output = os(std::move(list));
    EXPECT_EQ(output.exit.exit_code, exit_code) << output.stderr_bytes;
    expect_only_error(output, says);
  }
  /// The bytes are not those that were promised.
  void expect_error(const ProcessOutput& output, const std::string& says) const {
    EXPECT_EQ(output.exit.exit_code, 6) << output.stderr_bytes;
    expect_only_error(output, says);
  }
  static void expect_only_error(const ProcessOutput& output, const std::string& says) {
    EXPECT_TRUE(output.stdout_bytes.empty()) << output.stdout_bytes.substr(0, 200);
    EXPECT_NE(output.stderr_bytes.find(says), std::string::npos) << "expected '" << says << "' in:\n"
                                                                 << output.stderr_bytes;
  }
};

std::string hex_of(const std::string& digest) { return digest.substr(digest.find(':') + 1); }

TEST_F(OsImageTampered, OneBitInAnyBlob) {
  const struct {
    const char* form;
    int not_needed;  ///< layers that hold nothing of the listing: they need not be read
  } cases[] = {{"single", 0},
               {"chunked", 1},  // behind its components, an empty layer for later ones
               {"derived", 3},  // that one, and those of kernel and packages, which the upper layer replaces
               {"plain", 0},
               {"machine-os", 0}};
  for (const auto& test : cases) {
    const LayoutEditor whole = editable(test.form);
    const std::string listing = os({"ls", name_of(whole), "/", "-R", "--ostree", "-X", "--no-cache"}).stdout_bytes;
    Lines digests = whole.layer_digests();
    digests.insert(digests.end(), {whole.config_digest(), whole.manifest_digest()});
    int unchanged = 0;
    for (const std::string& digest : digests) {
      SCOPED_TRACE(fmt::format("{}: {}", test.form, digest));
      ASSERT_TRUE(whole.flip_bit_in_the_middle(digest).ok());
      const ProcessOutput output = os({"ls", name_of(whole), "/", "-R", "--ostree", "-X", "--no-cache"});
      if (output.exit.exit_code == 0 && output.stdout_bytes == listing) {
        ++unchanged;
      } else {
        expect_error(output, hex_of(digest));
      }
      ASSERT_TRUE(whole.flip_bit_in_the_middle(digest).ok());  // and back
    }
    EXPECT_LE(unchanged, test.not_needed) << test.form;
  }
}

TEST_F(OsImageTampered, PromisesThatDoNotHold) {
  const std::string other(64, 'a');
  const struct {
    const char* what;
    std::function<void(LayoutEditor&)> change;
    std::string says;
    int exit_code = 1;
  } cases[] = {
      {"another commit promised", [&](LayoutEditor& image) { image.set_label("ostree.commit", other); },
       "ostree.commit", 6},
      {"a commit that is no checksum", [&](LayoutEditor& image) { image.set_label("ostree.commit", "x"); },
       "ostree.commit"},
      {"an unknown last layer", [&](LayoutEditor& image) { image.set_label("ostree.final-diffid", "sha256:" + other); },
       "ostree.final-diffid"},
      {"a last layer that is no digest", [&](LayoutEditor& image) { image.set_label("ostree.final-diffid", "x"); },
       "ostree.final-diffid"},
      {"a label that differs from the annotation",
       [&](LayoutEditor& image) { image.manifest["annotations"].as_object()["ostree.commit"] = other; },
       "ostree.commit"},
      {"the commit layer as another", [&](LayoutEditor& image) { image.diff_ids()[0] = "sha256:" + other; }, other, 6},
      {"a chunk as another", [&](LayoutEditor& image) { image.diff_ids()[2] = "sha256:" + other; }, other, 6},
      {"fewer layers than promised", [&](LayoutEditor& image) { image.manifest["layers"].as_array().pop_back(); },
       "layers"},
      {"more layers than promised", [&](LayoutEditor& image) { image.diff_ids().pop_back(); }, "layers"},
      {"layers in another order",
       [&](LayoutEditor& image) {
         std::swap(image.manifest["layers"].as_array()[1], image.manifest["layers"].as_array()[2]);
       },
       "layer", 6},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.what);
    LayoutEditor image = editable("chunked");
    test.change(image);
    ASSERT_TRUE(image.write().ok());
    expect_refused(name_of(image), test.says, test.exit_code);
  }
}

/// The first member of a layer whose name ends like this and that has content.
struct FoundMember {
  std::size_t layer = 0;
  std::string tar;
  TarMember member;
};
Result<FoundMember> find_member(const LayoutEditor& image, std::string_view ending) {
  for (std::size_t layer = 0; layer < image.layer_digests().size(); ++layer) {
    STRAKE_TRY(std::string tar, image.uncompressed_layer(layer));
    STRAKE_TRY(const auto members, tar_members(tar));
    const auto found = std::ranges::find_if(
        members, [&](const TarMember& member) { return member.path.ends_with(ending) && member.size > 0; });
    if (found != members.end()) return FoundMember{layer, std::move(tar), *found};
  }
  return error(Code::kNotFound, "no member ends with {}", ending);
}

/// The checksum an object's file is named by: "objects/XX/YYYY.file".
std::string checksum_of(const std::string& object_path) {
  const std::size_t name = object_path.rfind('/') + 1;
  return object_path.substr(name - 3, 2) + object_path.substr(name, object_path.find('.', name) - name);
}

/// Changes one bit of an object; every digest of the image is right again.
Result<std::string> change_object(LayoutEditor& image, std::string_view ending) {
  STRAKE_TRY(FoundMember found, find_member(image, ending));
  char& byte = found.tar[found.member.content_at + found.member.size - 1];
  byte = static_cast<char>(byte ^ 1);
  STRAKE_CHECK_OK(image.replace_layer(found.layer, found.tar));
  STRAKE_CHECK_OK(image.write());
  return checksum_of(found.member.path);
}

TEST_F(OsImageTampered, OneBitInAnObjectWithEveryDigestSetRight) {
  for (const char* form : {"single", "chunked", "derived"}) {
    for (const char* type : {".commit", ".dirtree", ".dirmeta", ".file"}) {
      SCOPED_TRACE(fmt::format("{}: {}", form, type));
      LayoutEditor image = editable(form);
      const auto checksum = change_object(image, type);
      ASSERT_TRUE(checksum.ok()) << checksum.error().to_string();
      expect_refused(name_of(image), *checksum, 6);
    }
    SCOPED_TRACE(form);
    LayoutEditor image = editable(form);
    ASSERT_TRUE(change_object(image, ".file-xattrs").ok());
    expect_refused(name_of(image), "", 6);
  }
  for (const char* type : {".commit", ".dirtree", ".dirmeta"}) {
    SCOPED_TRACE(fmt::format("machine-os: {}", type));
    LayoutEditor image = editable("machine-os");
    const auto checksum = change_object(image, type);
    ASSERT_TRUE(checksum.ok()) << checksum.error().to_string();
    expect_refused(name_of(image), *checksum, 6);
  }
}

/// Every entry of the listing with a checksum, by path.
std::map<std::string, std::string> checksums_of(const std::string& listing) {
  std::map<std::string, std::string> checksums;
  for (const std::string& line : lines_of(listing)) {
    const std::size_t slash = line.find(" /");
    if (line[0] == '-') checksums.emplace(line.substr(slash + 1), line.substr(slash - 64, 64));
  }
  return checksums;
}

TEST_F(OsImageTampered, ContentOfFilesIsCheckedBeforeItIsShown) {
  const auto checksums = checksums_of(judged({"ostree", "--repo=archive", "ls", "-R", "-C", kOsBranch}));
  const std::string file = "/usr/bin/tool";
  const std::string& checksum = checksums.at(file);
  const std::string name = fmt::format("{}/{}", checksum.substr(0, 2), checksum.substr(2));
  {
    SCOPED_TRACE("machine-os-content");
    LayoutEditor image = editable("machine-os");
    ASSERT_TRUE(change_object(image, name + ".filez").ok());
    expect_error(os({"cat", name_of(image), file}), checksum);
  }
  for (const auto& [repository, ending] :
       {std::pair(images_->archive_repository(), ".filez"), std::pair(images_->bare_user_repository(), ".file")}) {
    SCOPED_TRACE(repository.string());
    const path copy = work_ / repository.filename();
    judged({"cp", "-a", repository.string(), copy.string()});
    const path object = copy / "objects" / (name + ending);
    auto bytes = read_file(object, kMaxObjectBytes);
    ASSERT_TRUE(bytes.ok()) << bytes.error().to_string();
    bytes->back() = static_cast<char>(bytes->back() ^ 1);
    // In place, because a new file would lack the attribute in which the repository keeps mode and owner.
    std::ofstream(object, std::ios::binary | std::ios::trunc) << *bytes;
    expect_error(os({"cat", "ostree:" + copy.string(), file}), checksum);
  }
}

TEST_F(OsImageTampered, ObjectsThatAreMissing) {
  for (const char* type : {".dirtree", ".dirmeta", ".file"}) {
    SCOPED_TRACE(type);
    LayoutEditor image = editable("chunked");
    auto found = find_member(image, type);
    ASSERT_TRUE(found.ok()) << found.error().to_string();
    const auto rest = tar_without(found->tar, found->member.path);
    ASSERT_TRUE(rest.ok()) << rest.error().to_string();
    ASSERT_TRUE(image.replace_layer(found->layer, *rest).ok());
    ASSERT_TRUE(image.write().ok());
    expect_refused(name_of(image), checksum_of(found->member.path), 1);
  }
}

}  // namespace
}  // namespace strake::test
