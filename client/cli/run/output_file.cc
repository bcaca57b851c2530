#include "client/cli/run/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/string_util.h"

namespace canopy::cli {

std::string OutputPath(const std::string& pattern, const std::string& nspace) {
  std::string name = nspace;
  ReplaceAll(&name, "/", "_");
  std::string path = pattern;
  ReplaceAll(&path, "%j", name);
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

OutputFile::OutputFile(std::string pattern, std::string path, UniqueFd fd)
    : pattern_(std::move(pattern)),
      path_(std::move(path)),
      fd_(std::move(fd)) {}

Result<OutputFile> OutputFile::Make(const std::string& pattern) {
  std::string path = OutputPath(pattern, "canopy-" + std::to_string(getpid()));
  UniqueFd fd(open(path.c_str(),
                   O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666));
  if (!fd) {
    return Status(kErrNoPermissions,
                  "cannot make the file of the output, " + path + ": " +
                      strerror(errno) +
                      "; name another one with '--output file=FILE'");
  }
  return OutputFile(OutputPath(pattern, "%j"), std::move(path), std::move(fd));
}

Status OutputFile::Check(const std::string& pattern) {
  std::string first = pattern;
  ReplaceAll(&first, "%r", "0");
  const Result<OutputFile> file = Make(first);
  if (file.ok()) file->Discard();
  return file.status();
}

Status OutputFile::SetJob(const std::string& nspace) {
  if (std::exchange(named_, true)) return Status();
  const std::string path = OutputPath(pattern_, nspace);
  if (path == path_) return Status();
  if (rename(path_.c_str(), path.c_str()) != 0) {
    return Status(kErrNoPermissions, "the output is in " + path_ +
                                         ", because it cannot be named " +
                                         path + ": " + strerror(errno));
  }
  path_ = path;
  return Status();
}

void OutputFile::Discard() const {
  if (!named_ && path_ != pattern_) (void)unlink(path_.c_str());
}

}  // namespace canopy::cli
