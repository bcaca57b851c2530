#include "client/cli/base/command.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "client/cli/base/file_util.h"
#include "common/text.h"

namespace canopy::cli {

void PrintError(const std::string& message) {
  (void)WriteAll(STDERR_FILENO, "canopy: " + Printable(message) + "\n");
}

int PrintText(std::string_view text, int exit_code) {
  if (WriteAll(STDOUT_FILENO, text)) return exit_code;
  if (errno != EPIPE) {
    PrintError(std::string("cannot write to standard output: ") +
               std::strerror(errno));
  }
  return kExitFailure;
}

int Fail(const Status& status) {
  PrintError(status.message());
  switch (status.code()) {
    case kErrBadParam:
    case kErrJobNoExeSpecified:
      return kExitUsage;
    case kErrJobExeNotFound:
      return kExitNotFound;
    case kErrJobAppNotExecutable:
    case kErrExeNotAccessible:
      return kExitNotExecutable;
    default:
      return kExitFailure;
  }
}

int FailUsage(const std::string& command, const Status& status) {
  if (status.code() != kErrBadParam && status.code() != kErrJobNoExeSpecified) {
    return Fail(status);
  }
  PrintError(status.message() + " ('canopy " + command +
             " --help' lists the options)");
  return kExitUsage;
}

}  // namespace canopy::cli
