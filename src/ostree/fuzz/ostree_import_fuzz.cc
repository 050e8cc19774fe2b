// The layers of an image somebody else made, imported into a repository: refused, or a commit every object of which is
// there and what its name says. The first byte says what follows:
//   n  64 digits of the promised commit, then the commit layer of an ostree-native image
//   p  two bytes with the size of the first layer of a plain image, then both layers
//   m  the same with owners mapped
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ostree/import/image_import.h"

namespace {

using namespace strake;
using namespace strake::ostree;

/// One for all inputs, made anew now and then, so that it does not fill the disk.
class FuzzRepository {
 public:
  FuzzRepository() : folder_(std::filesystem::temp_directory_path() / fmt::format("strake-fuzz-{}", ::getpid())) {}
  ~FuzzRepository() { remove(); }
  RepositoryWriter& writer() {
    if (++uses_ % 500 == 0 || !writer_) {
      writer_.reset();
      remove();
      auto made = RepositoryWriter::create(folder_, RepositoryMode::kBareUser, {.sync = SyncPolicy::kNever});
      if (!made.ok()) std::abort();
      writer_ = *std::move(made);
    }
    return *writer_;
  }

 private:
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::filesystem::path folder_;
  std::unique_ptr<RepositoryWriter> writer_;
  int uses_ = 0;
};

class FuzzLayers final : public LayerSource {
 public:
  explicit FuzzLayers(std::vector<std::string_view> layers) : layers_(std::move(layers)) {}
  Status read_layer(std::size_t number, const std::function<Status(codec::Source& tar)>& read) override {
    codec::MemorySource tar(layers_[number]);
    return read(tar);
  }
  const std::vector<std::string_view>& layers() const { return layers_; }

 private:
  std::vector<std::string_view> layers_;
};

void require_whole(RepositoryWriter& writer, const Checksum& checksum) {
  const auto commit = read_commit(writer.repository(), checksum);
  if (!commit.ok()) std::abort();
  const Status walked = walk_tree(writer.repository(), *commit, [&](const TreeEntry& entry) -> Status {
    if (entry.meta != nullptr) return {};
    STRAKE_TRY(const bool intact, writer.has_intact(ObjectType::kFile, entry.checksum));
    if (!intact) std::abort();
    return {};
  });
  if (!walked.ok() && walked.error().code() != Code::kExhausted) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static FuzzRepository repository;
  if (size < 3) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::map<std::string, std::string> labels;
  std::vector<std::string_view> layers;
  ImportOptions options{.reference = {.name = "fuzz"}};
  if (data[0] == 'n') {
    if (rest.size() < 64) return 0;
    labels.emplace(kCommitLabel, rest.substr(0, 64));
    rest.remove_prefix(64);
    labels.emplace(kFinalLayerLabel, codec::Digest::sha256_of(rest).to_string());
    layers = {rest};
  } else {
    const std::size_t first = std::min<std::size_t>(rest.size() - 2, data[1] * std::size_t{256} + data[2]);
    layers = {rest.substr(2, first), rest.substr(2 + first)};
    if (data[0] == 'm') options.owner = OwnerMapping{1000, 1000};
  }
  ImageDescription image{.manifest_digest = codec::Digest::sha256_of(rest), .manifest = "{}", .config = "{}"};
  image.labels = std::move(labels);
  for (const std::string_view layer : layers) {
    image.layers.push_back({codec::Digest::sha256_of(layer), codec::Digest::sha256_of(layer), layer.size()});
  }
  FuzzLayers source(std::move(layers));
  RepositoryWriter& writer = repository.writer();
  const auto report = import_image(writer, image, source, options);
  if (report.ok()) require_whole(writer, report->merge_commit);
  return 0;
}
