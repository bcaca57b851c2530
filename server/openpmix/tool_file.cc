#include "server/openpmix/tool_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/posix/host_name.h"
#include "common/posix/unique_fd.h"

namespace canopy::openpmix {
namespace {

// The release whose protocol is spoken, as its own files say it.
constexpr char kVersionLine[] = "v4.2.2";

std::string Now() {
  const time_t now = time(nullptr);
  struct tm parts;
  char text[64] = {};
  strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y",
           localtime_r(&now, &parts));
  return text;
}

std::string Content(const std::string& uri, const std::string& socket) {
  const std::string last = socket.empty() ? "" : "canopy:" + socket + "\n";
  return uri + "\n" + kVersionLine + "\n" + std::to_string(getpid()) + "\n" +
         std::to_string(geteuid()) + ":" + std::to_string(getegid()) + "\n" +
         Now() + "\n" + last;
}

Status WriteFile(const std::string& path, const std::string& content) {
  const UniqueFd fd(open(path.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                         0600));
  if (!fd || write(fd.get(), content.data(), content.size()) !=
                 static_cast<ssize_t>(content.size())) {
    return Status(kErrJobSysOpFailed,
                  "cannot write " + path + ": " + std::strerror(errno));
  }
  return Status();
}

bool IsToolFile(const std::string& name) {
  return name.starts_with("pmix.sys.") ||
         (name.starts_with("pmix.") && name.find(".tool.") < name.size());
}

}  // namespace

Result<ToolFile> ToolFile::Write(const std::string& directory,
                                 const std::string& uri,
                                 const std::string& socket) {
  const std::string host = LocalHostName();
  const std::string content = Content(uri, socket);
  ToolFile file;
  for (const std::string& name :
       {"pmix." + host + ".tool." + std::to_string(getpid()),
        "pmix.sys." + host}) {
    file.paths_.push_back(directory + "/" + name);
    const Status status = WriteFile(file.paths_.back(), content);
    if (!status.ok()) return status;
  }
  return file;
}

void ToolFile::RemoveAll(const std::string& directory) {
  std::error_code error;
  std::vector<std::filesystem::path> found;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory, error)) {
    if (IsToolFile(entry.path().filename())) found.push_back(entry.path());
  }
  for (const auto& path : found) std::filesystem::remove(path, error);
}

ToolFile::ToolFile(ToolFile&& other) noexcept
    : paths_(std::exchange(other.paths_, {})) {}

ToolFile& ToolFile::operator=(ToolFile&& other) noexcept {
  std::swap(paths_, other.paths_);
  return *this;
}

ToolFile::~ToolFile() {
  for (const std::string& path : paths_) unlink(path.c_str());
}

}  // namespace canopy::openpmix
