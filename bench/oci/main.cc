// bench_oci: pulling an image of 1 GiB from a real registry into a layout, beside `skopeo copy`.
//
// The same registry, image and disk for both; the order alternates from round to round, and the table shows medians.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "codec/compress.h"
#include "machine.h"
#include "oci/copy.h"
#include "oci/testing/sample_image.h"
#include "support/registry_server.h"

namespace strake::bench {
namespace {

constexpr int kRounds = 3;
constexpr int kLayers = 8;
constexpr std::size_t kLayerBytes = 128u << 20;

void say(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

double processor_seconds(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Content that does not shrink, stored in gzip's form: a pull moves and hashes bytes, it does not compress.
Status write_large_image(const std::filesystem::path& directory) {
  STRAKE_TRY(oci::LayoutWriter writer, oci::LayoutWriter::create(directory));
  json::Array layers, diff_ids;
  for (int i = 0; i < kLayers; ++i) {
    const std::string tar = oci::testing::make_layer({oci::testing::tar_file(
        fmt::format("usr/share/data{}", i), oci::testing::noise(kLayerBytes, static_cast<std::uint64_t>(i)))});
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

struct Side {
  std::string name;
  int processes;  ///< whose processor time: RUSAGE_SELF or RUSAGE_CHILDREN
  std::function<Status(const std::filesystem::path& target)> pull;
  std::vector<double> wall{};
  std::vector<double> processor{};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Status run_benchmark() {
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto server, test::RegistryServer::start(test::RegistryLogin::kPassword));
  STRAKE_TRY(const std::string machine, describe_machine(server->directory()));
  say(machine + "\n");
  oci::RegistryOptions options;
  options.credentials.files = {server->login_folder() / "config.json"};
  options.trust.certificate_authority = server->ca_file();
  options.proxy = net::ProxySettings{};
  oci::Registries registries(options, {}, runtime);
  const oci::Reference image{server->host(), "bench/os", "v1"};

  say(fmt::format("making and pushing an image of {} layers, {} MiB each\n", kLayers, kLayerBytes >> 20));
  const std::filesystem::path layout = server->directory() / "image";
  STRAKE_CHECK_OK(write_large_image(layout));
  {
    STRAKE_TRY(const oci::Layout source, oci::Layout::open(layout));
    STRAKE_TRY(const auto target, oci::RegistryTarget::open(image, registries));
    STRAKE_TRY(const auto pushed, oci::copy_image(source, "v1", *target, "v1", {}, runtime, {}));
    say(fmt::format("pushed {} blobs\n", pushed.blobs_written));
  }
  std::filesystem::remove_all(layout);

  std::vector<Side> sides;
  sides.push_back({"strake", RUSAGE_SELF, [&](const std::filesystem::path& target) -> Status {
                     STRAKE_TRY(const auto source, oci::RegistrySource::open(image, registries));
                     STRAKE_TRY(const auto to, oci::LayoutTarget::open(target, runtime));
                     STRAKE_TRY([[maybe_unused]] const auto report,
                                oci::copy_image(*source, "", *to, "v1", {}, runtime, {}));
                     return {};
                   }});
  sides.push_back({"skopeo copy", RUSAGE_CHILDREN, [&](const std::filesystem::path& target) -> Status {
                     STRAKE_TRY(
                         [[maybe_unused]] const std::string output,
                         server->run_client({"skopeo", "--insecure-policy", "copy", "--quiet",
                                             "--src-cert-dir=" + server->certificate_folder().string(),
                                             "docker://" + image.to_string(), "oci:" + target.string() + ":v1"}));
                     return {};
                   }});
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::size_t turn = 0; turn < sides.size(); ++turn) {
      Side& side = sides[(round + turn) % sides.size()];
      const std::filesystem::path target = server->directory() / "pulled";
      const double processor = processor_seconds(side.processes);
      const auto start = runtime.now();
      STRAKE_CHECK_OK(side.pull(target).context("{}", side.name));
      side.wall.push_back(std::chrono::duration<double>(runtime.now() - start).count());
      side.processor.push_back(processor_seconds(side.processes) - processor);
      say(fmt::format("round {} of {}: {}: {:.1f} s\n", round + 1, kRounds, side.name, side.wall.back()));
      std::filesystem::remove_all(target);
    }
  }
  say(fmt::format("\n{:<14} {:>8} {:>8} {:>8}\n", "pull of 1 GiB", sides[0].name, "skopeo", "ratio"));
  const auto row = [&](std::string_view name, double ours, double theirs) {
    say(fmt::format("{:<14} {:>8.2f} {:>8.2f} {:>8.2f}\n", name, ours, theirs, ours / theirs));
  };
  row("wall s", median(sides[0].wall), median(sides[1].wall));
  row("processor s", median(sides[0].processor), median(sides[1].processor));
  return {};
}

}  // namespace
}  // namespace strake::bench

int main() {
  const strake::Status finished = strake::bench::run_benchmark();
  if (finished.ok()) return EXIT_SUCCESS;
  std::fprintf(stderr, "bench_oci: %s\n", finished.error().to_string().c_str());
  return EXIT_FAILURE;
}
