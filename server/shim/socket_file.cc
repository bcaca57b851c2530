#include "server/shim/socket_file.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace canopy::process {
namespace {

constexpr int kBacklog = 16;

Status Failure(const std::string& what) {
  if (errno == EMFILE || errno == ENFILE) return OutOfDescriptors();
  return Status(kErrJobSysOpFailed, what + ": " + strerror(errno));
}

// Sets the address of a name in the directory. Uses a path through the
// directory's descriptor, because the full path may be too long.
bool AddressAt(int directory, const std::string& name, sockaddr_un* address) {
  const std::string path =
      "/proc/self/fd/" + std::to_string(directory) + "/" + name;
  if (path.size() >= sizeof address->sun_path) return false;
  *address = {};
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path, path.c_str(), path.size() + 1);
  return true;
}

UniqueFd NewSocket() {
  return UniqueFd(
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

Status OutOfDescriptors() {
  return Status(kErrSysLimitsFiles,
                "the agent has no descriptor left for the job; raise its limit "
                "on open files (ulimit -n), or run fewer jobs at once");
}

Result<UniqueFd> OpenDirectory(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return Failure("directory " + path);
  return fd;
}

Result<UniqueFd> ListenAt(int directory, const std::string& name) {
  sockaddr_un address;
  if (!AddressAt(directory, name, &address)) {
    return Status(kErrBadParam, "socket name too long: " + name);
  }
  UniqueFd fd = NewSocket();
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (!fd || bind(fd.get(), generic, sizeof address) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    return Failure("socket " + name);
  }
  return fd;
}

Result<UniqueFd> ConnectAt(int directory, const std::string& name) {
  sockaddr_un address;
  if (!AddressAt(directory, name, &address)) {
    return Status(kErrBadParam, "socket name too long: " + name);
  }
  UniqueFd fd = NewSocket();
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (!fd || connect(fd.get(), generic, sizeof address) != 0) {
    const int code = errno == ECONNREFUSED ? kErrUnreach : kErrCommFailure;
    return Status(code, "socket " + name + ": " + strerror(errno));
  }
  return fd;
}

SocketFile::SocketFile(UniqueFd directory, std::string name)
    : directory_(std::move(directory)), name_(std::move(name)) {
  struct stat st;
  if (fstatat(directory_.get(), name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
    device_ = st.st_dev;
    inode_ = st.st_ino;
  }
}

void SocketFile::Remove() {
  struct stat st;
  if (inode_ != 0 &&
      fstatat(directory_.get(), name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISSOCK(st.st_mode) && st.st_dev == device_ && st.st_ino == inode_) {
    unlinkat(directory_.get(), name_.c_str(), 0);
  }
  inode_ = 0;
  directory_.Reset();
}

}  // namespace canopy::process
