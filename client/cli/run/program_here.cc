#include "client/cli/run/program_here.h"

#include <sys/stat.h>
#include <unistd.h>

#include "common/string_util.h"

namespace canopy::cli {
namespace {

constexpr char kUsualPath[] = "/usr/local/bin:/usr/bin:/bin";

bool IsProgram(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

// Like the shim: a relative directory in PATH is below the working directory.
std::string Below(const std::string& directory, const std::string& next) {
  return next.starts_with('/') ? next : directory + "/" + next;
}

}  // namespace

std::string ProgramHere(const std::string& program, const std::string& path,
                        const std::string& directory) {
  if (program.empty() || program.find('/') != std::string::npos) return program;
  for (const std::string& next : Split(path.empty() ? kUsualPath : path, ':')) {
    if (IsProgram(Below(directory, next) + "/" + program)) return program;
  }
  return IsProgram(directory + "/" + program) ? "./" + program : program;
}

}  // namespace canopy::cli
