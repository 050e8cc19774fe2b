// bench_render: MachineConfigs to a rendered name, beside hashing the same bytes and beside the operator's libraries.
//
// Everything is CPU time of one render with nothing kept between renders. With "--peak N F" the program renders N
// MachineConfigs of F files once and prints its peak memory: it runs itself so, because a peak never goes down again.
// With "--profile N F" it renders again and again, for a profiler to look at.
#include <ctime>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "base/fd.h"
#include "base/subprocess.h"
#include "codec/digest.h"
#include "codec/yaml.h"
#include "machine.h"
#include "machineconfig/render/rendered_name.h"
#include "render/allocations.h"
#include "render/operator.h"
#include "render/workload.h"
#include "support/temp_dir.h"

namespace strake::bench {
namespace {

using namespace std::chrono_literals;

constexpr double kSecondsPerFigure = 0.5;
constexpr int kProfileRounds = 300;
/// Beyond this the operator's libraries take minutes.
constexpr int kMostFilesForOperator = 1000;

constexpr Shape kShapes[] = {
    {10, 1, false},   {10, 1, true},   {10, 10, false},  {10, 10, true},  {100, 1, false},   {100, 1, true},
    {100, 10, false}, {100, 10, true}, {1000, 1, false}, {1000, 1, true}, {1000, 10, false}, {1000, 10, true},
};

double cpu_now() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/// CPU seconds of one call: the fastest of the rounds that fit, as other work on the machine only ever adds.
double cpu_seconds_of(const std::function<void()>& work) {
  const double begin = cpu_now();
  double fastest = 1e9;
  do {
    const double before = cpu_now();
    work();
    fastest = std::min(fastest, cpu_now() - before);
  } while (cpu_now() - begin < kSecondsPerFigure);
  return fastest;
}

void say(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

struct Row {
  std::string shape;
  double yaml_mebibytes = 0;
  double render_seconds = 0;
  Allocations allocated;
  double hash_seconds = 0;
  double files_seconds = 0;
  std::optional<double> libraries_seconds;
  std::optional<double> quoted_seconds;
};

Result<Row> measure(const Shape& shape) {
  Row row;
  row.shape = shape.to_string();
  const std::vector<kube::ObjectPtr> configs = make_configs(shape);
  const machineconfig::RenderInput input = render_input(configs);
  STRAKE_TRY(const machineconfig::RenderPlan plan, machineconfig::render_pool(input));
  std::string text;  // what a render has to read: where paths overlap, the result is much smaller
  for (const kube::ObjectPtr& config : configs) {
    STRAKE_CHECK_OK(yaml::emit_to(*json::find(config->json(), {"spec"}), [&](std::string_view part) { text += part; }));
  }
  row.yaml_mebibytes = static_cast<double>(text.size()) / (1 << 20);

  row.render_seconds = cpu_seconds_of([&] {
    if (!machineconfig::render_pool(input).ok()) std::abort();
  });
  const Allocations before = allocations();
  STRAKE_INVARIANT(machineconfig::render_pool(input).ok());
  const Allocations after = allocations();
  row.allocated = {after.calls - before.calls, after.bytes - before.bytes};
  row.hash_seconds = cpu_seconds_of([&] {
    if (codec::md5_hex(text).empty()) std::abort();
  });

  const test::TempDir folder;
  STRAKE_CHECK_OK(write_files(configs, folder.path()));
  row.files_seconds = cpu_seconds_of([&] {
    const auto read = read_files(folder.path());
    if (!read.ok() || !machineconfig::render_pool(render_input(*read)).ok()) std::abort();
  });
  if (shape.configs * shape.files_each <= kMostFilesForOperator) {
    STRAKE_TRY(const OperatorRun run, time_operator_libraries(configs));
    if (!plan.rendered.name().ends_with(run.hash)) {
      return error(Code::kInternal, "{}: the operator's libraries name it {}, we {}", row.shape, run.hash,
                   plan.rendered.name());
    }
    row.libraries_seconds = run.cpu_seconds;
  }
  row.quoted_seconds = quoted_operator_seconds(shape);
  return row;
}

std::string ratio(std::optional<double> theirs, double ours) {
  return theirs ? fmt::format("{:.0f}x", *theirs / ours) : std::string("-");
}

std::string milliseconds(std::optional<double> seconds) {
  if (!seconds) return "-";
  return *seconds >= 0.1 ? fmt::format("{:.0f}", *seconds * 1e3) : fmt::format("{:.2f}", *seconds * 1e3);
}

std::string table(const std::vector<Row>& rows) {
  std::string text =
      "| MachineConfigs x files | MiB | render ms | allocated MiB | allocations | MD5 of the same bytes ms | "
      "render / MD5 | from YAML files ms | operator's libraries ms | faster by | operator, quoted ms | faster by |\n"
      "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  for (const Row& row : rows) {
    text += fmt::format(
        "| {} | {:.2f} | {} | {:.1f} | {} | {} | {:.1f} | {} | {} | {} | {} | {} |\n", row.shape, row.yaml_mebibytes,
        milliseconds(row.render_seconds), static_cast<double>(row.allocated.bytes) / (1 << 20), row.allocated.calls,
        milliseconds(row.hash_seconds), row.render_seconds / row.hash_seconds, milliseconds(row.files_seconds),
        milliseconds(row.libraries_seconds), ratio(row.libraries_seconds, row.render_seconds),
        milliseconds(row.quoted_seconds), ratio(row.quoted_seconds, row.render_seconds));
  }
  return text;
}

Status print_peak(const Shape& shape) {
  STRAKE_CHECK_OK([&]() -> Status {
    STRAKE_TRY(const auto plan, machineconfig::render_pool(render_input(make_configs(shape))));
    return {};
  }());
  constexpr std::size_t kStatusBytes = 1 << 16;
  STRAKE_TRY(const std::string status, read_file("/proc/self/status", kStatusBytes));
  const std::size_t at = status.find("VmHWM:");
  if (at == std::string::npos) return error(Code::kInternal, "/proc/self/status has no VmHWM");
  say(fmt::format("{:.0f}", std::strtod(status.c_str() + at + 6, nullptr) / 1024));
  return {};
}

Result<std::string> peak_of(const Shape& shape) {
  Command command;
  command.argv = {std::filesystem::read_symlink("/proc/self/exe").string(), "--peak", fmt::format("{}", shape.configs),
                  fmt::format("{}", shape.files_each)};
  command.timeout = 120s;
  STRAKE_TRY(const auto output, run_checked(command));
  return output.stdout_bytes;
}

Status run_benchmark() {
  {
    const test::TempDir probe;
    STRAKE_TRY(const std::string machine, describe_machine(probe.path()));
    say(machine + "\n");
  }
  std::vector<Row> rows;
  for (const Shape& shape : kShapes) {
    STRAKE_TRY(Row row, measure(shape));
    rows.push_back(std::move(row));
    say(fmt::format("measured {}\n", rows.back().shape));
  }
  say("\n" + table(rows));
  STRAKE_TRY(const std::string peak, peak_of({1000, 10, false}));
  say(fmt::format("\npeak resident memory of a process that makes and renders 1000x10: {} MiB\n", peak));
  return {};
}

Status run_once(const std::string& what, const Shape& shape) {
  if (what == "--peak") return print_peak(shape);
  const machineconfig::RenderInput input = render_input(make_configs(shape));
  for (int round = 0; round < kProfileRounds; ++round) STRAKE_INVARIANT(machineconfig::render_pool(input).ok());
  return {};
}

}  // namespace
}  // namespace strake::bench

int main(int argc, char** argv) {
  const strake::Status finished =
      argc == 4 ? strake::bench::run_once(argv[1], {std::atoi(argv[2]), std::atoi(argv[3]), false})
                : strake::bench::run_benchmark();
  if (finished.ok()) return EXIT_SUCCESS;
  std::fprintf(stderr, "bench_render: %s\n", finished.error().to_string().c_str());
  return EXIT_FAILURE;
}
