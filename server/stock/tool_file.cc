#include "server/stock/tool_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "common/posix/unique_fd.h"

namespace canopy::stock {
namespace {

// The release whose protocol is spoken, as its own files say it.
constexpr char kVersionLine[] = "v4.2.2";

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string Now() {
  const time_t now = time(nullptr);
  struct tm parts;
  char text[64] = {};
  strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y",
           localtime_r(&now, &parts));
  return text;
}

std::string Content(const std::string& uri) {
  return uri + "\n" + kVersionLine + "\n" + std::to_string(getpid()) + "\n" +
         std::to_string(geteuid()) + ":" + std::to_string(getegid()) + "\n" +
         Now() + "\n";
}

}  // namespace

Result<ToolFile> ToolFile::Write(const std::string& directory,
                                 const std::string& uri) {
  const std::string path =
      directory + "/pmix." + HostName() + ".tool." + std::to_string(getpid());
  const UniqueFd fd(open(path.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                         0600));
  ToolFile file;
  if (fd) file.path_ = path;
  const std::string content = Content(uri);
  if (!fd || write(fd.get(), content.data(), content.size()) !=
                 static_cast<ssize_t>(content.size())) {
    return Status(kErrJobSysOpFailed,
                  "cannot write " + path + ": " + std::strerror(errno));
  }
  return file;
}

ToolFile::ToolFile(ToolFile&& other) noexcept
    : path_(std::exchange(other.path_, "")) {}

ToolFile& ToolFile::operator=(ToolFile&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

ToolFile::~ToolFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace canopy::stock
