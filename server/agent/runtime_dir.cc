#include "server/agent/runtime_dir.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace canopy::agent {
namespace {

// Room that the longest socket name in the directory needs.
constexpr size_t kSocketNameRoom = 40;

std::string Base() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/' && access(runtime, W_OK) == 0) {
    return runtime;
  }
  return "/tmp";
}

Status CheckOwn(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    return Status(kErrNoPermissions, path + ": " + std::strerror(errno));
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & 077) != 0) {
    return Status(kErrNoPermissions,
                  path +
                      " is not a private directory of this user; remove it "
                      "or set XDG_RUNTIME_DIR");
  }
  return Status();
}

Status MakePrivate(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Status(kErrNoPermissions,
                  "cannot make " + path + ": " + std::strerror(errno));
  }
  return CheckOwn(path);
}

}  // namespace

Result<RuntimeDir> RuntimeDir::Make(const std::string& path,
                                    const std::string& overlay_name,
                                    const std::string& node_name) {
  RuntimeDir dir;
  std::string next = path;
  if (path.empty()) {
    next = Base() + "/canopy-" + std::to_string(geteuid());
    for (const std::string& part : {overlay_name, node_name}) {
      Status status = MakePrivate(next);
      if (!status.ok()) return status;
      next += "/" + part;
    }
  }
  if (next.size() + kSocketNameRoom > sizeof(sockaddr_un::sun_path)) {
    return Status(kErrBadParam, next +
                                    " is too long for the sockets in it; set "
                                    "XDG_RUNTIME_DIR to a shorter directory");
  }
  Status status = MakePrivate(next);
  if (!status.ok()) return status;
  dir.path_ = next;
  return dir;
}

RuntimeDir::RuntimeDir(RuntimeDir&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

RuntimeDir::~RuntimeDir() {
  if (path_.empty()) return;
  // rmdir fails harmlessly for what is not empty or shared with other agents.
  if (rmdir(path_.c_str()) != 0) return;
  const std::string overlay = path_.substr(0, path_.rfind('/'));
  rmdir(overlay.c_str());
}

}  // namespace canopy::agent
