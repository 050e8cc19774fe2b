// bench_oci: an image of 1 GiB in a real registry: pulled into a layout beside `skopeo copy`, and its files listed
// beside `buildah from`, `buildah mount` and find.
//
// The same registry, image and disk for all; the order alternates from round to round, and the table shows medians and
// the spread. Every contestant is a process of its own, this program too, so that processor time and memory are
// measured the same way.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <span>

#include "base/fd.h"
#include "codec/compress.h"
#include "machine.h"
#include "oci/copy.h"
#include "oci/image_files.h"
#include "oci/testing/sample_image.h"
#include "support/registry_server.h"

namespace strake::bench {
namespace {

using std::filesystem::path;

constexpr int kRounds = 3;
constexpr int kLayers = 8;
constexpr int kFilesOfLayer = 2500;
constexpr std::size_t kFileBytes = 52u << 10;

void say(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

/// Content that does not shrink, stored in gzip's form: what is measured is moving, hashing and unpacking, not the
/// speed of zlib.
Status write_large_image(const path& directory) {
  STRAKE_TRY(oci::LayoutWriter writer, oci::LayoutWriter::create(directory));
  json::Array layers, diff_ids;
  std::uint64_t seed = 0;
  for (int i = 0; i < kLayers; ++i) {
    std::vector<oci::testing::TarItem> items;
    for (int file = 0; file < kFilesOfLayer; ++file) {
      items.push_back(oci::testing::tar_file(fmt::format("usr/lib/part{}/package{}/file{}.dat", i, file / 50, file),
                                             oci::testing::noise(kFileBytes, ++seed)));
    }
    const std::string tar = oci::testing::make_layer(items);
    diff_ids.push_back(json::Value(codec::Digest::sha256_of(tar).to_string()));
    STRAKE_TRY(const oci::Descriptor layer, writer.add_blob(oci::media_type::kOciLayerGzip, codec::gzip(tar, 0)));
    layers.push_back(layer.to_json());
  }
  const json::Object config{{"architecture", "amd64"},
                            {"os", "linux"},
                            {"rootfs", json::Object{{"type", "layers"}, {"diff_ids", std::move(diff_ids)}}}};
  STRAKE_TRY(const oci::Descriptor config_blob, writer.add_blob(oci::media_type::kOciConfig, json::write(config)));
  STRAKE_TRY(const oci::Descriptor manifest,
             writer.add_blob(oci::media_type::kOciManifest,
                             json::write(json::Object{{"schemaVersion", 2},
                                                      {"mediaType", oci::media_type::kOciManifest},
                                                      {"config", config_blob.to_json()},
                                                      {"layers", std::move(layers)}})));
  writer.tag(manifest, "v1");
  return writer.finish();
}

/// What this program is told when it is a contestant: VERB REFERENCE AUTHORITY LOGIN FOLDER.
struct Task {
  std::string verb, reference;
  path authority, login, folder;

  std::vector<std::string> argv() const {
    return {std::filesystem::read_symlink("/proc/self/exe").string(),
            verb,
            reference,
            authority.string(),
            login.string(),
            folder.string()};
  }
};

Status perform(const Task& task) {
  runtime::ThreadRuntime runtime;
  oci::RegistryOptions options;
  options.credentials.files = {task.login};
  options.trust.certificate_authority = task.authority;
  options.proxy = net::ProxySettings{};
  oci::Registries registries(options, {}, runtime);
  STRAKE_TRY(const oci::Reference reference, oci::parse_reference(task.reference));
  if (task.verb == "push") {
    STRAKE_CHECK_OK(write_large_image(task.folder));
    STRAKE_TRY(const oci::Layout source, oci::Layout::open(task.folder));
    STRAKE_TRY(const auto target, oci::RegistryTarget::open(reference, registries));
    STRAKE_TRY([[maybe_unused]] const auto pushed, oci::copy_image(source, "v1", *target, "v1", {}, runtime, {}));
    return {};
  }
  STRAKE_TRY(const auto source, oci::RegistrySource::open(reference, registries));
  if (task.verb == "pull") {
    STRAKE_TRY(const auto target, oci::LayoutTarget::open(task.folder, runtime));
    STRAKE_TRY([[maybe_unused]] const auto report, oci::copy_image(*source, "", *target, "v1", {}, runtime, {}));
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    say(fmt::format("{}\n", usage.ru_maxrss));
    return {};
  }
  STRAKE_TRY(const auto cache, oci::BlobCache::open({task.folder}, runtime));
  STRAKE_TRY(const oci::Descriptor root, source->resolve(""));
  STRAKE_TRY(const oci::Manifest manifest, source->read_manifest(root));
  STRAKE_TRY(const oci::ImageFiles files, oci::ImageFiles::read(*source, manifest, {cache.get()}, runtime, {}));
  std::string names;
  for (const auto& [name, file] : files.files()) names += name + "\n";
  say(names);
  return {};
}

double processor_seconds_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Series {
  std::vector<double> values;

  double median() const {
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  std::string text() const {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    return fmt::format("{:.2f} ({:.2f}-{:.2f})", median(), *least, *most);
  }
};

struct Measured {
  Series wall, processor;
};

class Benchmark {
 public:
  explicit Benchmark(test::RegistryServer& server) : server_(server), image_(server.host() + "/bench/os:v1") {}

  Status run() {
    say(fmt::format("making and pushing an image of {} layers, {} files of {} KiB each\n", kLayers, kFilesOfLayer,
                    kFileBytes >> 10));
    STRAKE_CHECK_OK(ours("push", server_.directory() / "image"));
    std::filesystem::remove_all(server_.directory() / "image");
    for (int round = 0; round < kRounds; ++round) {
      say(fmt::format("round {} of {}\n", round + 1, kRounds));
      STRAKE_CHECK_OK(alternate(round, [&] { return pull_ours(); }, [&] { return pull_skopeo(); }));
      STRAKE_CHECK_OK(alternate(round, [&] { return list_ours(); }, [&] { return list_buildah(); }));
    }
    report();
    return {};
  }

 private:
  static Status alternate(int round, const std::function<Status()>& one, const std::function<Status()>& other) {
    STRAKE_CHECK_OK(round % 2 == 0 ? one() : other());
    return round % 2 == 0 ? other() : one();
  }

  Status measured(Measured& into, const std::function<Status()>& work) {
    const double processor = processor_seconds_of_children();
    const auto start = runtime_.now();
    STRAKE_CHECK_OK(work());
    into.wall.values.push_back(std::chrono::duration<double>(runtime_.now() - start).count());
    into.processor.values.push_back(processor_seconds_of_children() - processor);
    return {};
  }

  Status ours(const std::string& verb, const path& folder) {
    const Task task{verb, image_, server_.ca_file(), server_.login_folder() / "config.json", folder};
    STRAKE_TRY(const std::string output, server_.run_client(task.argv()));
    if (verb == "pull") memory_.values.push_back(std::atof(output.c_str()) / 1024);
    if (verb == "list") names_ = static_cast<std::size_t>(std::count(output.begin(), output.end(), '\n'));
    return {};
  }

  Status pull_ours() {
    const path target = server_.directory() / "pulled";
    STRAKE_CHECK_OK(measured(pull_ours_, [&] { return ours("pull", target); }));
    std::filesystem::remove_all(target);
    return {};
  }

  Status pull_skopeo() {
    const path target = server_.directory() / "pulled";
    STRAKE_CHECK_OK(measured(pull_skopeo_, [&] {
      return client({"skopeo", "--insecure-policy", "copy", "--quiet",
                     "--src-cert-dir=" + server_.certificate_folder().string(), "docker://" + image_,
                     "oci:" + target.string() + ":v1"});
    }));
    std::filesystem::remove_all(target);
    return {};
  }

  Status list_ours() {
    const path cache = server_.directory() / "cache";
    STRAKE_CHECK_OK(measured(first_ours_, [&] { return ours("list", cache); }));
    STRAKE_CHECK_OK(measured(second_ours_, [&] { return ours("list", cache); }));
    index_bytes_ = 0;
    for (const auto& entry : std::filesystem::directory_iterator(cache / "derived")) index_bytes_ += entry.file_size();
    std::filesystem::remove_all(cache);
    return {};
  }

  Status client(std::vector<std::string> argv) {
    STRAKE_TRY(output_, server_.run_client(std::move(argv)));
    return {};
  }

  Status buildah(std::vector<std::string> arguments) {
    const path root = server_.directory() / "storage";
    std::vector<std::string> argv{"buildah",          "--root", root.string(), "--runroot", (root / "run").string(),
                                  "--storage-driver", driver_};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return client(std::move(argv));
  }

  Status mount_and_find() {
    STRAKE_CHECK_OK(buildah({"mount", "bench"}));
    const std::string mounted = output_.substr(0, output_.find('\n'));
    STRAKE_CHECK_OK(client({"find", mounted, "-mindepth", "1"}));
    const auto found = static_cast<std::size_t>(std::count(output_.begin(), output_.end(), '\n'));
    if (names_ != 0 && found != names_) {
      return error(Code::kCorrupt, "find sees {} names, our listing has {}", found, names_);
    }
    return {};
  }

  Status list_buildah() {
    const path policy = server_.directory() / "policy.json";
    STRAKE_CHECK_OK(write_file_atomic(policy, R"({"default":[{"type":"insecureAcceptAnything"}]})", 0600));
    const auto pull_and_list = [&]() -> Status {
      STRAKE_CHECK_OK(buildah({"from", "--quiet", "--name", "bench", "--signature-policy", policy.string(),
                               "--cert-dir", server_.certificate_folder().string(), "docker://" + image_}));
      return mount_and_find();
    };
    STRAKE_CHECK_OK(measured(first_buildah_, pull_and_list));
    STRAKE_CHECK_OK(buildah({"umount", "bench"}));
    STRAKE_CHECK_OK(measured(second_buildah_, [&] { return mount_and_find(); }));
    STRAKE_CHECK_OK(buildah({"umount", "bench"}));
    STRAKE_CHECK_OK(buildah({"rm", "bench"}));
    return buildah({"rmi", "--all", "--force"});
  }

  void report() const {
    say(fmt::format("\n{:<32} {:>22} {:>22} {:>8}\n", "median (least-most)", "strake", "others", "ratio"));
    const auto row = [](const char* name, const Series& ours, const Series& theirs) {
      say(fmt::format("{:<32} {:>22} {:>22} {:>8.2f}\n", name, ours.text(), theirs.text(),
                      ours.median() / theirs.median()));
    };
    row("pull, wall s", pull_ours_.wall, pull_skopeo_.wall);
    row("pull, processor s", pull_ours_.processor, pull_skopeo_.processor);
    say(fmt::format("{:<32} {:>22}\n", "pull, most memory MiB", memory_.text()));
    row("first listing, wall s", first_ours_.wall, first_buildah_.wall);
    row("first listing, processor s", first_ours_.processor, first_buildah_.processor);
    row("second listing, wall s", second_ours_.wall, second_buildah_.wall);
    row("second listing, processor s", second_ours_.processor, second_buildah_.processor);
    row("ours again, their first, wall s", second_ours_.wall, first_buildah_.wall);
    say(fmt::format("names listed: {}; index of all layers: {} bytes, {:.4f} % of 1 GiB; buildah's storage: {}\n",
                    names_, index_bytes_, static_cast<double>(index_bytes_) / double{1u << 30} * 100, driver_));
  }

  test::RegistryServer& server_;
  const std::string image_;
  const std::string driver_ = std::getenv("STORAGE_DRIVER") != nullptr ? std::getenv("STORAGE_DRIVER") : "overlay";
  runtime::ThreadRuntime runtime_;
  std::string output_;
  std::size_t names_ = 0;
  std::uint64_t index_bytes_ = 0;
  Series memory_;
  Measured pull_ours_, pull_skopeo_, first_ours_, first_buildah_, second_ours_, second_buildah_;
};

Status run_benchmark() {
  STRAKE_TRY(const auto server, test::RegistryServer::start(test::RegistryLogin::kPassword));
  STRAKE_TRY(const std::string machine, describe_machine(server->directory()));
  say(machine + "\n");
  return Benchmark(*server).run();
}

}  // namespace
}  // namespace strake::bench

int main(int argc, char** argv) {
  using namespace strake;
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  Status finished;
  if (arguments.size() == 6) {
    finished = bench::perform({arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]});
  } else {
    finished = bench::run_benchmark();
  }
  if (finished.ok()) return EXIT_SUCCESS;
  std::fprintf(stderr, "bench_oci: %s\n", finished.error().to_string().c_str());
  return EXIT_FAILURE;
}
