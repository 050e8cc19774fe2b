#include "oci/testing/sample_image.h"

#include "base/random.h"

namespace strake::oci::testing {

namespace {

template <typename T>
T must(Result<T> result) {
  if (!result.ok()) fmt::print(stderr, "sample image: {}\n", result.error().to_string());
  STRAKE_INVARIANT(result.ok());
  return *std::move(result);
}

void must(Status status) { STRAKE_INVARIANT(status.ok()); }

}  // namespace

TarItem tar_file(std::string path, std::string content) {
  TarItem item;
  item.entry.path = std::move(path);
  item.content = std::move(content);
  return item;
}

TarItem tar_folder(std::string path) {
  TarItem item;
  item.entry.type = codec::TarEntryType::kDirectory;
  item.entry.path = std::move(path);
  item.entry.mode = 0755;
  return item;
}

TarItem tar_link(codec::TarEntryType type, std::string path, std::string target) {
  TarItem item;
  item.entry.type = type;
  item.entry.path = std::move(path);
  item.entry.link_target = std::move(target);
  return item;
}

std::string make_layer(const std::vector<TarItem>& items) {
  codec::StringSink sink;
  codec::TarWriter writer(sink);
  for (const TarItem& item : items) must(writer.add(item.entry, std::string_view(item.content)));
  must(writer.finish());
  return std::move(sink).take();
}

std::string noise(std::size_t size, std::uint64_t seed) {
  SeededRandom random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.next());
  return bytes;
}

Descriptor write_image(const std::filesystem::path& directory, const std::string& tag,
                       const std::vector<std::string>& layers, const Platform& platform) {
  LayoutWriter writer = must(LayoutWriter::extend(directory));
  ImageSpec spec;
  spec.platform = platform;
  spec.layers = layers;
  const Descriptor image = must(writer.add_image(spec));
  writer.tag(image, tag);
  must(writer.finish());
  return image;
}

Descriptor write_multi_platform_image(const std::filesystem::path& directory, const std::string& tag,
                                      const std::vector<std::string>& architectures) {
  LayoutWriter writer = must(LayoutWriter::extend(directory));
  std::vector<Descriptor> images;
  for (const std::string& architecture : architectures) {
    ImageSpec spec;
    spec.platform.architecture = architecture;
    spec.layers = {make_layer({tar_file("arch", architecture)})};
    images.push_back(must(writer.add_image(spec)));
  }
  const Descriptor index = must(writer.add_index(images));
  writer.tag(index, tag);
  must(writer.finish());
  return index;
}

}  // namespace strake::oci::testing
