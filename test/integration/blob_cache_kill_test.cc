// One cache, several processes, each of them killed at any moment: what is there is whole, what was begun is gone on
// with, no lock stays, and the limit holds.
#include <fcntl.h>
#include <sys/file.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/random.h"
#include "base/subprocess.h"
#include "oci/blob_cache.h"
#include "oci/registry/registry_source.h"
#include "oci/testing/fake_registry.h"
#include "oci/testing/sample_image.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;

constexpr int kKills = 60;
constexpr int kProcesses = 4;
constexpr int kBlobs = 6;
constexpr std::size_t kBlobBytes = 3u << 20;
/// Not enough for all of them: blobs are removed while others are fetched.
constexpr std::uint64_t kLimitBytes = 4 * kBlobBytes + (1u << 20);

std::string blob_bytes(int number) { return oci::testing::noise(kBlobBytes, static_cast<std::uint64_t>(number)); }

oci::Descriptor descriptor_of(const std::string& bytes) {
  return {std::string(oci::media_type::kOciLayer), codec::Digest::sha256_of(bytes), bytes.size()};
}

/// What the processes are told, in variables of their environment.
struct Assignment {
  std::filesystem::path folder;  ///< with cache/ and ca.crt
  std::string registry;
  std::uint64_t seed = 0;
};

Status fetch_all(const Assignment& assignment, std::size_t rounds) {
  runtime::ThreadRuntime runtime;
  oci::RegistryOptions options;
  options.trust.certificate_authority = assignment.folder / "ca.crt";
  options.proxy = net::ProxySettings{};
  oci::Registries registries(options, {}, runtime);
  STRAKE_TRY(const auto source, oci::RegistrySource::open({assignment.registry, "os", "v1"}, registries));
  STRAKE_TRY(const auto cache, oci::BlobCache::open({assignment.folder / "cache", kLimitBytes}, runtime));
  const oci::CachedSource cached(*source, *cache);
  std::vector<oci::Descriptor> blobs;
  for (int i = 0; i < kBlobs; ++i) blobs.push_back(descriptor_of(blob_bytes(i)));
  SeededRandom random(assignment.seed);
  for (std::size_t i = 0; i < rounds; ++i) STRAKE_CHECK_OK(cached.verify_blob(blobs[random.below(kBlobs)]));
  return {};
}

/// The program that is killed is this one, told to run this and nothing else.
TEST(BlobCacheFetcher, DISABLED_UntilItIsKilled) {
  const char* folder = std::getenv("STRAKE_TEST_FOLDER");
  const char* registry = std::getenv("STRAKE_TEST_REGISTRY");
  const char* seed = std::getenv("STRAKE_TEST_SEED");
  ASSERT_TRUE(folder != nullptr && registry != nullptr && seed != nullptr) << "started by the test below";
  const Status fetched = fetch_all({folder, registry, std::strtoull(seed, nullptr, 10)}, 1'000'000);
  ASSERT_TRUE(fetched.ok()) << fetched.error().to_string();
}

class BlobCacheKill : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < kBlobs; ++i) registry_.put_blob("os", blob_bytes(i));
    static_cast<void>(registry_.client_options(dir_.path()));  // writes ca.crt
    registry_.intercept([this](const net::ServerRequest& request) -> std::optional<net::Response> {
      const std::scoped_lock lock(mutex_);
      if (request.target.path.find("/blobs/") != std::string::npos) ++requests_for_blobs_;
      if (const auto range = request.headers.get("Range")) ranges_.emplace(*range);
      return std::nullopt;
    });
  }

  Assignment assignment(std::uint64_t seed) const { return {dir_.path(), registry_.host(), seed}; }

  Result<ChildProcess> start_fetcher(std::uint64_t seed) {
    const Assignment told = assignment(seed);
    Command command;
    command.argv = {std::filesystem::read_symlink("/proc/self/exe").string(), "--gtest_also_run_disabled_tests",
                    "--gtest_filter=BlobCacheFetcher.DISABLED_UntilItIsKilled"};
    command.env =
        std::vector<std::string>{"STRAKE_TEST_FOLDER=" + told.folder.string(), "STRAKE_TEST_REGISTRY=" + told.registry,
                                 fmt::format("STRAKE_TEST_SEED={}", seed)};
    command.log_file = dir_ / fmt::format("fetcher{}.log", seed);
    return ChildProcess::start(command);
  }

  std::vector<std::filesystem::path> files(const char* part) const {
    std::vector<std::filesystem::path> all;
    for (const auto& entry : std::filesystem::directory_iterator(dir_ / "cache" / part)) all.push_back(entry.path());
    return all;
  }

  std::size_t requests_for_blobs() {
    const std::scoped_lock lock(mutex_);
    return requests_for_blobs_;
  }

  /// Blobs appear by a rename, so at any moment, with fetchers at work or dead, each is what its name says.
  void expect_blobs_whole() const {
    for (const auto& file : files("blobs/sha256")) {
      const auto bytes = read_file(file, 1u << 30);
      if (!bytes.ok()) continue;  // removed to make room
      EXPECT_EQ(codec::Digest::sha256_of(*bytes).hex(), file.filename().string());
    }
  }

  TempDir dir_;
  oci::testing::FakeRegistry registry_;
  std::mutex mutex_;
  std::size_t requests_for_blobs_ = 0;
  std::set<std::string> ranges_;
  runtime::ThreadRuntime runtime_;
};

TEST_F(BlobCacheKill, TheCacheSurvives) {
  SeededRandom random(7);
  std::vector<ChildProcess> fetchers;
  std::uint64_t seed = 0;
  const auto start = [&] {
    auto started = start_fetcher(++seed);
    ASSERT_TRUE(started.ok()) << started.error().to_string();
    fetchers.push_back(*std::move(started));
  };
  for (int i = 0; i < kProcesses; ++i) start();
  std::size_t requests_before = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    // Something must be on its way, or the kill would prove nothing.
    const runtime::TimePoint limit = runtime_.now() + 60s;
    while (requests_for_blobs() == requests_before) {
      ASSERT_LT(runtime_.now(), limit) << "nobody fetches before kill " << kill;
      ASSERT_TRUE(runtime_.sleep(200us, {}).ok());
    }
    ASSERT_TRUE(runtime_.sleep(std::chrono::microseconds(random.below(3'000)), {}).ok());
    // One of them, so that the others go on with what it had; or all at once, as when the power fails.
    const std::size_t victims = kill % 3 == 0 ? fetchers.size() : 1;
    for (std::size_t i = 0; i < victims; ++i) {
      const std::size_t victim = random.below(fetchers.size());
      fetchers[victim].kill_now();
      fetchers.erase(fetchers.begin() + static_cast<std::ptrdiff_t>(victim));
    }
    expect_blobs_whole();
    requests_before = requests_for_blobs();
    while (fetchers.size() < kProcesses) start();
  }
  for (ChildProcess& fetcher : fetchers) fetcher.kill_now();

  // No lock stays with the dead.
  std::vector<std::filesystem::path> locks = files("partial");
  if (std::filesystem::exists(dir_ / "cache/lock")) locks.push_back(dir_ / "cache/lock");
  for (const auto& path : locks) {
    const Fd fd = open_file(path, O_RDWR).value();
    EXPECT_EQ(::flock(fd.get(), LOCK_EX | LOCK_NB), 0) << path;
  }
  expect_blobs_whole();

  // One that dies in the middle is gone on with. Made by hand, so that there is one for certain.
  const std::string bytes = blob_bytes(0);
  const oci::Descriptor blob = descriptor_of(bytes);
  std::filesystem::remove(dir_ / "cache/blobs/sha256" / blob.digest.hex());
  ASSERT_TRUE(
      write_file_atomic(dir_ / "cache/partial" / ("sha256-" + blob.digest.hex()), bytes.substr(0, 1'000'003), 0600)
          .ok());
  const auto cache = oci::BlobCache::open({dir_ / "cache", kLimitBytes}, runtime_).value();
  const Status finished = fetch_all(assignment(0), 40);
  EXPECT_TRUE(finished.ok()) << finished.error().to_string();
  {
    const std::scoped_lock lock(mutex_);
    EXPECT_TRUE(ranges_.contains("bytes=1000003-"));
    // Others went on with what the dead had, besides the one made by hand.
    EXPECT_GT(ranges_.size(), 1u);
  }
  expect_blobs_whole();
  EXPECT_LE(cache->size_bytes().value(), kLimitBytes);
}

}  // namespace
}  // namespace strake::test
