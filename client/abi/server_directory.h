// The directories of one server: one for its sockets, and the parent of the
// directories of its jobs.
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

// The destructor removes the directories with all their contents.
class ServerDirectory {
 public:
  // Makes one directory below `base`, for the sockets and for the jobs.
  // Processes that know its name may open files in it, because clients of other
  // users must do so. With `listed` all users may list it, because tools of
  // other users must do so.
  //
  // The directory is below /tmp, or else below /run, if names below `base` are
  // too long for a socket, or if a server that runs as root finds that any user
  // can change `base`. If one user controls `base`, as the job's user controls
  // the directory that Slurm gives, a server that runs as root makes two
  // directories. The directory of the sockets is below /run, or else below
  // /tmp. The directory of the jobs is below `base` and made with that user's
  // rights, or below /tmp or else /run if the user may not make it.
  //
  // Errors: kErrNoPermissions if a directory cannot be made; kErrOutOfResource
  // as for RunAsUser.
  static Result<ServerDirectory> Make(std::string base, bool listed);
  ~ServerDirectory();
  ServerDirectory(ServerDirectory&& other) noexcept
      : own_(std::exchange(other.own_, {})),
        jobs_(std::exchange(other.jobs_, {})) {}
  ServerDirectory& operator=(ServerDirectory&&) = delete;

  // Returns the directory of the sockets. Only root and this process's user can
  // change it.
  const std::string& path() const { return own_->path; }
  // Return the parent of the jobs' directories, and its descriptor, which this
  // object owns.
  const std::string& jobs_path() const { return jobs().path; }
  int jobs_fd() const { return jobs().fd.get(); }
  // Returns true if a user can change the directory of the jobs, which is then
  // separate from that of the sockets.
  bool jobs_are_users() const {
    return jobs().parent.control == PathControl::kUser;
  }

 private:
  struct Made {
    OpenedDirectory parent;
    std::string name;  // the directory's name in `parent`
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
  std::optional<Made> jobs_;  // the directory of the jobs, if it is separate
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_SERVER_DIRECTORY_H_
