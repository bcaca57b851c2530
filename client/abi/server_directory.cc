#include "client/abi/server_directory.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "common/posix/private_dir.h"
#include "common/posix/remove_tree.h"

namespace canopy::client {
namespace {

constexpr std::string_view kLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
constexpr size_t kRandomLetters = 6;
constexpr int kAttempts = 100;
// Where the directories of a server are made if they cannot be below the
// directory that the host has chosen. A separate directory for sockets is
// preferably in /run, because processes may have a private /tmp, but rarely a
// private /run. Files in the directories of jobs may be too large for /run.
constexpr const char* kForSockets[] = {"/run", "/tmp"};
constexpr const char* kForJobs[] = {"/tmp", "/run"};
// The longest name in the directory is the name of a socket that is being
// created.
constexpr size_t kInside = sizeof "/clients.sock.4194304";
constexpr size_t kLongest = sizeof(sockaddr_un::sun_path);
constexpr uint64_t kMaxFilesRemoved = 100000;

std::string RandomName() {
  std::array<unsigned char, kRandomLetters> random = {};
  (void)!getrandom(random.data(), random.size(), 0);
  std::string name = kDirectoryPrefix;
  for (const unsigned char byte : random) {
    name.push_back(kLetters[byte % kLetters.size()]);
  }
  return name;
}

bool Fits(const std::string& base) {
  return base.size() + sizeof kDirectoryPrefix + kRandomLetters + kInside <=
         kLongest;
}

// Makes a new directory in an open one, with a name that is not in use. If that
// fails, returns false and sets errno.
bool MakeNew(int parent, mode_t mode, std::string* name, UniqueFd* fd) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    *name = RandomName();
    if (mkdirat(parent, name->c_str(), 0700) == 0) {
      *fd = UniqueFd(openat(parent, name->c_str(),
                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      return *fd && fchmod(fd->get(), mode) == 0;
    }
    if (errno != EEXIST) return false;
  }
  return false;
}

Status NoDirectory(const std::string& text) {
  return Status(kErrNoPermissions, "no directory for a server: " + text);
}

}  // namespace

Result<ServerDirectory::Made> ServerDirectory::MakeBelow(
    const std::string& base, OpenedDirectory parent, mode_t mode) {
  Made made;
  int error = 0;
  const Status run = RunAsUser(parent.user, [&] {
    if (!MakeNew(parent.fd.get(), mode, &made.name, &made.fd)) error = errno;
  });
  if (!run.ok()) return run;
  if (error != 0) return NoDirectory(base + ": " + std::strerror(error));
  made.path = base + "/" + made.name;
  made.parent = std::move(parent);
  return made;
}

Result<ServerDirectory::Made> ServerDirectory::MakeElsewhere(
    std::span<const char* const> bases, mode_t mode) {
  Status problem;
  for (const std::string base : bases) {
    Result<OpenedDirectory> parent = OpenDirectory(base);
    if (!parent.ok()) {
      problem = parent.status();
    } else if (parent->control != PathControl::kOwn) {
      problem = NoDirectory("other users can change " + base);
    } else {
      Result<Made> made = MakeBelow(base, *std::move(parent), mode);
      if (made.ok()) return made;
      problem = made.status();
    }
  }
  return problem;
}

// Makes separate directories for the sockets and the jobs. The one for the jobs
// is not below `base` if it cannot be made there, which may be because of the
// user who controls `base`, or of a user who owns a directory above it.
Result<ServerDirectory> ServerDirectory::MakeTwo(const std::string& base,
                                                 OpenedDirectory users,
                                                 mode_t mode) {
  Result<Made> sockets = MakeElsewhere(kForSockets, mode);
  if (!sockets.ok()) return sockets.status();
  ServerDirectory out;
  out.own_ = *std::move(sockets);
  Result<Made> jobs = MakeBelow(base, std::move(users), mode);
  if (!jobs.ok()) jobs = MakeElsewhere(kForJobs, mode);
  if (!jobs.ok()) return jobs.status();
  out.jobs_ = *std::move(jobs);
  return out;
}

Result<ServerDirectory> ServerDirectory::Make(std::string base, bool listed) {
  while (base.size() > 1 && base.ends_with('/')) base.pop_back();
  const mode_t mode = listed ? 0755 : 0711;
  Result<OpenedDirectory> found = OpenDirectory(base);
  if (found.ok() && found->control == PathControl::kUser) {
    return MakeTwo(base, *std::move(found), mode);
  }
  const bool is_wrong =
      !found.ok() && (found.code() == kErrNotFound || !IsPrivileged());
  if (is_wrong && Fits(base)) return NoDirectory(found.status().message());
  const bool is_own = found.ok() && found->control == PathControl::kOwn;
  Result<Made> own = is_own && Fits(base)
                         ? MakeBelow(base, *std::move(found), mode)
                         : MakeElsewhere(kForJobs, mode);
  if (!own.ok()) return own.status();
  ServerDirectory out;
  out.own_ = *std::move(own);
  return out;
}

ServerDirectory::~ServerDirectory() {
  Remove(jobs_);
  Remove(own_);
}

void ServerDirectory::Remove(const std::optional<Made>& made) {
  if (!made) return;
  (void)RunAsUser(made->parent.user, [&made] {
    (void)RemoveTreeAt(made->parent.fd.get(), made->name, kMaxFilesRemoved);
  });
}

}  // namespace canopy::client
