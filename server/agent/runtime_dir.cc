#include "server/agent/runtime_dir.h"

#include <sys/un.h>
#include <unistd.h>

#include <utility>

#include "common/posix/private_dir.h"

namespace canopy::agent {
namespace {

// Room that the longest socket name in the directory needs.
constexpr size_t kSocketNameRoom = 40;

}  // namespace

Result<RuntimeDir> RuntimeDir::Make(const std::string& path,
                                    const std::string& overlay_name,
                                    const std::string& node_name) {
  RuntimeDir dir;
  std::string next = path;
  if (path.empty()) {
    next = RuntimeBase() + "/canopy-" + std::to_string(geteuid());
    for (const std::string& part : {overlay_name, node_name}) {
      Status status = MakePrivateDir(next);
      if (!status.ok()) return status;
      next += "/" + part;
    }
  }
  if (next.size() + kSocketNameRoom > sizeof(sockaddr_un::sun_path)) {
    return Status(kErrBadParam, next +
                                    " is too long for the sockets in it; set "
                                    "XDG_RUNTIME_DIR to a shorter directory");
  }
  Status status = MakePrivateDir(next);
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
