#include "server/process/shim_start.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "server/shim/protocol.h"

namespace canopy::process {
namespace {

// The lowest number of the source descriptors. It is above their targets, so
// that moving one to its target never overwrites another.
constexpr int kLowestSourceFd = 16;

Status Failure(const std::string& what, int error) {
  if (error == EMFILE || error == ENFILE) return OutOfDescriptors();
  return Status(kErrJobSysOpFailed, what + ": " + strerror(error));
}

UniqueFd Above(int fd) {
  return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, kLowestSourceFd));
}

Result<UniqueFd> Listen(int directory, const std::string& name,
                        const std::string& nspace) {
  Result<UniqueFd> listener = ListenAt(directory, name);
  if (listener.ok() || faccessat(directory, name.c_str(), F_OK, 0) != 0) {
    return listener;
  }
  SocketFile left(Above(directory), name);
  if (ConnectAt(directory, name).code() != kErrUnreach) {
    return Status(kErrExists, "namespace " + nspace + " is held already");
  }
  left.Remove();
  return ListenAt(directory, name);
}

// Returns the flag that determines the session of the shim. The kernel gives
// every session an equal share of a CPU, and lets a process that wakes up
// preempt processes of another session immediately. An agent that answers many
// ranks is most efficient if it runs when all of them wait, so the ranks share
// the agent's session if that session has no terminal. Process groups separate
// the signals.
int Place() {
  return getsid(0) == getpid() ? POSIX_SPAWN_SETPGROUP : POSIX_SPAWN_SETSID;
}

struct Attributes {
  Attributes() {
    posix_spawnattr_init(&value);
    const int flags = Place() | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    posix_spawnattr_setflags(&value, static_cast<short>(flags));
    sigset_t set;
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&value, &set);
    sigfillset(&set);
    posix_spawnattr_setsigdefault(&value, &set);
  }
  ~Attributes() { posix_spawnattr_destroy(&value); }
  posix_spawnattr_t value;
};

struct FileActions {
  FileActions(int agent, int listener, int directory) {
    posix_spawn_file_actions_init(&value);
    posix_spawn_file_actions_addopen(&value, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&value, 0, 1);
    posix_spawn_file_actions_adddup2(&value, 0, 2);
    posix_spawn_file_actions_adddup2(&value, agent, kShimAgentFd);
    posix_spawn_file_actions_adddup2(&value, listener, kShimListenFd);
    posix_spawn_file_actions_adddup2(&value, directory, kShimDirFd);
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&value); }
  posix_spawn_file_actions_t value;
};

// Starts the program. Returns 0 or an errno.
int SpawnShim(const std::string& path, int agent, int listener, int directory,
              const std::string& name, const std::string& nspace,
              uint64_t open_files, int* pid) {
  const UniqueFd a = Above(agent);
  const UniqueFd l = Above(listener);
  const UniqueFd d = Above(directory);
  if (!a || !l || !d) return errno;
  const Attributes attributes;
  const FileActions actions(a.get(), l.get(), d.get());
  std::string limit = std::to_string(open_files);
  char* const argv[] = {
      const_cast<char*>(path.c_str()), const_cast<char*>(name.c_str()),
      const_cast<char*>(nspace.c_str()), limit.data(), nullptr};
  char* const envp[] = {nullptr};
  return posix_spawn(pid, path.c_str(), &actions.value, &attributes.value, argv,
                     envp);
}

}  // namespace

Result<StartedShim> StartShim(const std::string& shim_path, int runtime_dir,
                              const std::string& nspace, uint64_t open_files) {
  const std::string name = ShimSocketName(nspace);
  // The descriptor of the directory is duplicated before the socket is created,
  // because the socket could not be removed without the duplicate.
  UniqueFd directory = Above(runtime_dir);
  if (!directory) return OutOfDescriptors();
  Result<UniqueFd> listener = Listen(runtime_dir, name, nspace);
  if (!listener.ok()) return listener.status();
  StartedShim shim;
  shim.file = SocketFile(std::move(directory), name);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    shim.file.Remove();
    return Failure("socketpair", errno);
  }
  shim.connection.Reset(pair[0]);
  const UniqueFd theirs(pair[1]);
  const int error = SpawnShim(shim_path, theirs.get(), listener->get(),
                              runtime_dir, name, nspace, open_files, &shim.pid);
  if (error == 0) return shim;
  shim.file.Remove();
  return Failure("cannot start " + shim_path, error);
}

std::vector<std::string> ListShimSockets(int runtime_dir) {
  std::vector<std::string> names;
  const int copy = openat(runtime_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const dir = copy < 0 ? nullptr : fdopendir(copy);
  if (dir == nullptr) return names;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (name.starts_with("shim-") && name.ends_with(".sock")) {
      names.push_back(name);
    }
  }
  closedir(dir);
  return names;
}

}  // namespace canopy::process
