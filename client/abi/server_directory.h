// The directories of one server: that of its sockets, and the one in which the
// directories of its jobs are made.
#ifndef CANOPY_CLIENT_ABI_SERVER_DIRECTORY_H_
#define CANOPY_CLIENT_ABI_SERVER_DIRECTORY_H_

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "common/posix/open_directory.h"
#include "common/posix/run_as_user.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::client {

// Removes them at its end, with all that is in them.
class ServerDirectory {
 public:
  // Makes one directory for both below `base`. A process that knows its name
  // may look for what is in it, as clients of other users do; with `listed`
  // everybody may list it, as tools of other users do.
  //
  // The directory is below /tmp where names below `base` are too long for a
  // socket, and where a server that is root finds that any user can change
  // `base`. Where one user controls `base`, as the job's user does with the one
  // that Slurm gives, a server that is root makes two: that of the sockets
  // below /run, or else below /tmp, and that of the jobs below `base`, with
  // that user's rights, or, where the user may not make it, below /tmp.
  //
  // kErrNoPermissions: one of them cannot be made. kErrOutOfResource: see
  // RunAsUser.
  static Result<ServerDirectory> Make(std::string base, bool listed);
  ~ServerDirectory();
  ServerDirectory(ServerDirectory&& other) noexcept
      : own_(std::exchange(other.own_, {})),
        jobs_(std::exchange(other.jobs_, {})) {}
  ServerDirectory& operator=(ServerDirectory&&) = delete;

  // Of the sockets. Nobody but root and this process's user can change it.
  const std::string& path() const { return own_->path; }
  // In which the directories of jobs are made, and a descriptor of it, which is
  // this object's.
  const std::string& jobs_path() const { return jobs().path; }
  int jobs_fd() const { return jobs().fd.get(); }
  // A user can change the directory of the jobs, which is another than that of
  // the sockets then.
  bool jobs_are_users() const {
    return jobs().parent.control == PathControl::kUser;
  }

 private:
  struct Made {
    OpenedDirectory parent;
    std::string name;  // there
    std::string path;
    UniqueFd fd;
  };

  ServerDirectory() = default;
  static Result<Made> MakeBelow(const std::string& base, OpenedDirectory parent,
                                mode_t mode);
  static Result<Made> MakeElsewhere(std::span<const char* const> bases,
                                    mode_t mode);
  static Result<ServerDirectory> MakeTwo(const std::string& base,
                                         OpenedDirectory users, mode_t mode);
  static void Remove(const std::optional<Made>& made);
  const Made& jobs() const { return jobs_ ? *jobs_ : *own_; }

  std::optional<Made> own_;
  std::optional<Made> jobs_;  // where it is another
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_SERVER_DIRECTORY_H_
