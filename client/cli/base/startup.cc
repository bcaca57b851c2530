#include "client/cli/base/startup.h"

#include <fcntl.h>
#include <unistd.h>

#include "client/cli/base/command.h"
#include "common/version.h"

namespace canopy::cli {

// Descriptors 0 to 2 are inherited standard streams only if they are not
// close-on-exec. If the program was started with one of them closed, a library
// may have opened it for its own use before main; in this case the program is
// executed anew with /dev/null in its place.
void OpenStandardStreams(char** argv) {
  bool closed = false;
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) continue;
    const int null = open("/dev/null", O_RDWR);
    if (null < 0) return;
    if (null != fd) {
      dup2(null, fd);
      close(null);
    }
    closed = true;
  }
  if (closed) execv("/proc/self/exe", argv);
}

std::string ProgramName(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  constexpr std::string_view kOurs = "canopy-";
  if (path.starts_with(kOurs)) path.remove_prefix(kOurs.size());
  return std::string(path);
}

bool IsRunName(std::string_view program) {
  return program == "mpirun" || program == "mpiexec" || program == "prterun";
}

bool IsVersionWord(std::string_view word) {
  return word == "--version" || word == "-V" || word == "version";
}

int PrintVersion() {
  return PrintText(std::string("canopy ") + kVersion + "\n");
}

}  // namespace canopy::cli
