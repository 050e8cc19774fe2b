#include "support/strake_command.h"

#include <gtest/gtest.h>

#include "support/places.h"

namespace strake::test {

Command strake_command(std::vector<std::string> arguments) {
  Command command;
  command.argv = {strake_program().string()};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.timeout = std::chrono::seconds(120);
  return command;
}

ProcessOutput run_strake(std::vector<std::string> arguments, std::string stdin_bytes) {
  Command command = strake_command(std::move(arguments));
  command.stdin_bytes = std::move(stdin_bytes);
  auto output = run(command);
  EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
  return output.ok() ? *std::move(output) : ProcessOutput{};
}

}  // namespace strake::test
