// bench_agent: an OS image of 400 MB imported into an ostree repository, beside `ostree container image pull` of
// ostree-ext; then an update of which one part in twenty changed.
//
// The same image, disk and mode of repository for both; the order alternates from round to round. Every contestant is a
// process of its own, this program too, started by this program as a starter, which says what it took.
//
//   bench_agent                                       everything, with a table at the end
//   bench_agent import LAYOUT REPOSITORY [bare|own]   ours alone; bare: as root's sysroot; own: as an ordinary user's,
//                                                     owners mapped
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/fd.h"
#include "base/subprocess.h"
#include "codec/json.h"
#include "codec/tar.h"
#include "machine.h"
#include "oci/layout.h"
#include "osimage/os_import.h"
#include "report.h"
#include "support/lines.h"
#include "support/servers.h"
#include "support/temp_dir.h"

namespace strake::bench {
namespace {

using std::filesystem::path;

constexpr int kRounds = 3;
constexpr int kParts = 20;
constexpr int kFilesOfPart = 400;
constexpr std::size_t kFileBytes = 52u << 10;
constexpr const char* kBranch = "bench/os";

void say(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

/// About as compressible as programs are: one part in three does not shrink.
std::string content(std::uint32_t seed) {
  std::string text;
  while (text.size() < kFileBytes) {
    for (int i = 0; i < 64; ++i) {
      seed = seed * 1664525 + 1013904223;
      text += static_cast<char>(seed >> 24);
    }
    text += fmt::format("{:<128}", seed % 1000);
  }
  return text;
}

/// `version`: of the one part that changes.
Status write_tree(const path& file, std::uint32_t version) {
  STRAKE_TRY(const Fd fd, open_file(file, O_WRONLY | O_CREAT | O_TRUNC, 0644));
  codec::FdSink sink(fd.get(), file.string());
  codec::TarWriter writer(sink);
  for (std::uint32_t part = 0; part < kParts; ++part) {
    for (std::uint32_t i = 0; i < kFilesOfPart; ++i) {
      codec::TarEntry entry;
      entry.path = fmt::format("usr/lib/part{}/folder{}/file{}", part, i / 20, i);
      const std::uint32_t seed = (part * kFilesOfPart + i) * 7919 + (part == 0 ? version : 0);
      STRAKE_CHECK_OK(writer.add(entry, content(seed)));
    }
  }
  return writer.finish();
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

Status import_ours(const path& layout_folder, const path& repository, const std::string& form) {
  const auto mode = form.empty() ? ostree::RepositoryMode::kBareUser : ostree::RepositoryMode::kBare;
  STRAKE_TRY(const auto writer, ostree::RepositoryWriter::create(repository, mode));
  STRAKE_TRY(const oci::Layout layout, oci::Layout::open(layout_folder));
  STRAKE_TRY(const auto image, osimage::describe_image(layout, "v1", {}, {}));
  ostree::ImportOptions options{
      .reference = {.transport = ostree::ContainerReference::Transport::kOci, .name = layout_folder.string() + ":v1"}};
  if (form == "own") options.owner = {static_cast<std::uint32_t>(::geteuid()), static_cast<std::uint32_t>(::getegid())};
  STRAKE_TRY(const auto report, osimage::import_os_image(*writer, layout, nullptr, image, options, {}));
  std::uint64_t read = 0, all = 0;
  for (const auto& layer : image.description.layers) all += layer.size;
  for (const std::size_t number : report.layers_read) read += image.description.layers[number].size;
  const auto counts = writer->counts();
  say(fmt::format("{} {} {} {} {}\n", read, all, counts.bytes_written, counts.objects_written,
                  report.merge_commit.hex()));
  return {};
}

/// Starts a contestant and says what it took: wall, processor and most memory, then what it printed.
Status start_contestant(std::vector<std::string> argv) {
  Command command;
  command.argv = std::move(argv);
  command.timeout = std::chrono::minutes(5);
  const auto start = std::chrono::steady_clock::now();
  STRAKE_TRY(const ProcessOutput output, run_checked(command));
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  say(fmt::format("{} {} {}\n{}", wall, seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
                  static_cast<double>(usage.ru_maxrss) / 1024, output.stdout_bytes));
  return {};
}

class Benchmark {
 public:
  Status run() {
    STRAKE_TRY(const path programs, test::os_image_programs());
    oxt_ = (programs / "oxt").string();
    STRAKE_TRY(const std::string machine, describe_machine(folder_.path()));
    say(machine + "\n");
    say(fmt::format("making two images of {} parts, {} files of {} KiB each\n", kParts, kFilesOfPart,
                    kFileBytes >> 10));
    STRAKE_TRY(std::string made, program({"ostree", "--repo=source", "init", "--mode=bare-user"}));
    for (const std::uint32_t version : {1u, 2u}) STRAKE_CHECK_OK(make_image(version));
    for (int round = 0; round < kRounds; ++round) {
      say(fmt::format("round {} of {}\n", round + 1, kRounds));
      for (const bool ours : {round % 2 == 0, round % 2 != 0}) STRAKE_CHECK_OK(measure(ours));
    }
    say(comparison_table({"strake", ours_}, {"ostree-ext", theirs_}));
    say(fmt::format(
        "\nthe update: {:.1f} of {:.1f} MB of layers read, {:.1f} MB of objects written ({:.1f} at first)\n",
        update_[0] / 1e6, update_[1] / 1e6, update_[2] / 1e6, first_[2] / 1e6));
    return {};
  }

 private:
  Result<std::string> program(std::vector<std::string> argv) const {
    Command command;
    command.argv = std::move(argv);
    command.cwd = folder_.path();
    command.env = {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + folder_.path().string(),
                   "TMPDIR=" + folder_.path().string(), "LC_ALL=C.UTF-8"};
    command.timeout = std::chrono::minutes(5);
    command.stdout_limit_bytes = 64u << 20;
    STRAKE_TRY_CONTEXT(ProcessOutput output, run_checked(command), "{}", command.argv.front());
    return std::move(output.stdout_bytes);
  }

  path layout(std::uint32_t version) const { return folder_.path() / fmt::format("image{}", version); }

  /// In layers by parts, so that an update leaves the others as they are.
  Status make_image(std::uint32_t version) {
    STRAKE_CHECK_OK(write_tree(folder_.path() / "tree.tar", version));
    STRAKE_TRY(std::string made,
               program({"ostree", "--repo=source", "commit", std::string("--branch=") + kBranch, "--tree=tar=tree.tar",
                        "--tar-autocreate-parents", fmt::format("--timestamp=@{}", 1'767'225'600 + version)}));
    STRAKE_TRY(const std::string listing, program({"ostree", "--repo=source", "ls", "-R", "-C", kBranch}));
    json::Object mapping, layers;
    for (const std::string_view line : test::lines_of(listing)) {
      const std::size_t slash = line.find('/');
      if (line.starts_with('d') || slash < 65) continue;
      const std::string_view name = line.substr(slash + std::string_view("/usr/lib/").size());
      const std::string part(name.substr(0, name.find('/')));
      mapping[line.substr(slash - 65, 64)] = part;
      layers[part] = part;
    }
    const json::Object meta{{"version", 1}, {"layers", std::move(layers)}, {"mapping", std::move(mapping)}};
    STRAKE_CHECK_OK(write_file_atomic(folder_.path() / "meta.json", json::write(meta), 0644));
    STRAKE_TRY(made, program({oxt_, "container", "encapsulate", "--repo=source", "--contentmeta=meta.json", kBranch,
                              "oci:" + layout(version).string() + ":v1"}));
    std::filesystem::remove(folder_.path() / "tree.tar");
    return {};
  }

  /// Both images into an empty repository.
  Status measure(bool ours) {
    const path repository = folder_.path() / "repository";
    std::filesystem::remove_all(repository);
    STRAKE_TRY(std::string made, program({"ostree", "--repo=" + repository.string(), "init", "--mode=bare-user"}));
    std::vector<Figure> figures;
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    for (const std::uint32_t version : {1u, 2u}) {
      std::vector<std::string> argv{self, "start"};
      if (ours) {
        argv.insert(argv.end(), {self, "import", layout(version).string(), repository.string()});
      } else {
        argv.insert(argv.end(), {oxt_, "container", "image", "pull", repository.string(),
                                 fmt::format("ostree-unverified-image:oci:{}:v1", layout(version).string())});
      }
      STRAKE_TRY(const std::string output, program(std::move(argv)));
      double wall = 0, processor = 0, memory = 0;
      std::array<double, 3> bytes{};
      const int got = std::sscanf(output.c_str(), "%lf %lf %lf %lf %lf %lf", &wall, &processor, &memory, &bytes[0],
                                  &bytes[1], &bytes[2]);
      if (got < (ours ? 6 : 3)) return error(Code::kInternal, "a contestant said {}", output);
      const std::string what = version == 1 ? "import" : "update";
      figures.push_back({what + ", wall s", wall});
      figures.push_back({what + ", CPU s", processor});
      figures.push_back({what + ", most memory MiB", memory});
      if (ours) (version == 1 ? first_ : update_) = bytes;
    }
    STRAKE_TRY(made, program({"ostree", "--repo=" + repository.string(), "fsck", "--quiet"}));
    (ours ? ours_ : theirs_).push_back(std::move(figures));
    return {};
  }

  test::TempDir folder_;
  std::string oxt_;
  std::vector<std::vector<Figure>> ours_, theirs_;
  std::array<double, 3> first_{}, update_{};
};

}  // namespace
}  // namespace strake::bench

int main(int argc, char** argv) {
  using namespace strake;
  const std::vector<std::string> arguments(argv, argv + argc);
  Status finished;
  if (arguments.size() > 3 && arguments[1] == "import") {
    finished = bench::import_ours(arguments[2], arguments[3], arguments.size() > 4 ? arguments[4] : "");
  } else if (arguments.size() > 2 && arguments[1] == "start") {
    finished = bench::start_contestant({arguments.begin() + 2, arguments.end()});
  } else {
    finished = bench::Benchmark().run();
  }
  if (finished.ok()) return EXIT_SUCCESS;
  std::fprintf(stderr, "bench_agent: %s\n", finished.error().to_string().c_str());
  return EXIT_FAILURE;
}
