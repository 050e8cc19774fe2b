#include "support/server_process.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/fd.h"

namespace strake::test {
namespace {

constexpr std::size_t kLogTailBytes = 16 * 1024;
constexpr int kLogTailLines = 20;

}  // namespace

Result<std::vector<std::uint16_t>> free_ports(std::size_t count) {
  std::vector<Fd> held;
  std::vector<std::uint16_t> ports;
  while (ports.size() < count) {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (!socket || ::bind(socket.get(), generic, size) != 0 || ::getsockname(socket.get(), generic, &size) != 0) {
      return errno_error(errno, "choosing a free port");
    }
    ports.push_back(ntohs(address.sin_port));
    held.push_back(std::move(socket));
  }
  return ports;
}

std::string last_lines(const std::filesystem::path& file) {
  const std::string text = read_file_tail(file, kLogTailBytes).value_or({});
  std::size_t start = text.size();
  for (int lines = 0; start > 0; --start) {
    if (text[start - 1] == '\n' && start != text.size() && ++lines == kLogTailLines) break;
  }
  return text.substr(start);
}

}  // namespace strake::test
