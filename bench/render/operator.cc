#include "render/operator.h"

#include "base/subprocess.h"
#include "support/servers.h"

namespace strake::bench {

using namespace std::chrono_literals;

Result<OperatorRun> time_operator_libraries(const std::vector<kube::ObjectPtr>& configs) {
  json::Array questions;
  for (const kube::ObjectPtr& config : configs) {
    questions.push_back(json::Object{{"spec", *json::find(config->json(), {"spec"})}});
  }
  const std::string frame = json::write(json::Object{{"configs", std::move(questions)}});
  STRAKE_TRY(const std::filesystem::path programs, test::judge_programs());
  Command command;
  command.argv = {(programs / "judge-render").string(), "time"};
  command.stdin_bytes = fmt::format("{}\n{}", frame.size(), frame);
  command.timeout = 600s;
  STRAKE_TRY(const auto output, run_checked(command));
  STRAKE_TRY(const json::Value answer, json::parse(output.stdout_bytes));
  const json::Value* seconds = json::find(answer, {"seconds"});
  if (seconds == nullptr) return error(Code::kInternal, "the judge said '{}'", output.stdout_bytes);
  return OperatorRun{seconds->to_number<double>(), json::find_string(answer, {"hash"}).value_or("")};
}

std::optional<double> quoted_operator_seconds(const Shape& shape) {
  if (shape.overlapping) return std::nullopt;
  if (shape.configs == 10 && shape.files_each == 10) return 0.04;
  if (shape.configs == 100 && shape.files_each == 10) return 0.8;
  if (shape.configs == 1000 && shape.files_each == 1) return 5.5;
  return std::nullopt;
}

}  // namespace strake::bench
