#include "client/abi/server_log.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/posix/open_file.h"
#include "common/posix/unique_fd.h"
#include "common/text.h"

namespace canopy::client {
namespace {

constexpr int kAppend =
    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

}  // namespace

void AppendToServerLog(const std::string& path, const std::string& text) {
  const UniqueFd fd = OpenToWrite(path, kAppend, 0644);
  const std::string line =
      "canopy[" + std::to_string(getpid()) + "]: " + Printable(text) + "\n";
  if (fd) (void)!write(fd.get(), line.data(), line.size());
}

}  // namespace canopy::client
