// File accesses of a privileged process in the name of a user.
#ifndef CANOPY_COMMON_POSIX_FILES_AS_H_
#define CANOPY_COMMON_POSIX_FILES_AS_H_

#include <sys/types.h>

#include <optional>
#include <vector>

namespace canopy {

// While one exists, the file accesses of its thread, and of no other, are those
// of a user without supplementary groups: root's permissions and groups do not
// count. One at a time in a thread, and in the thread that made it.
class FilesAs {
 public:
  FilesAs(uid_t uid, gid_t gid);
  ~FilesAs();
  FilesAs(const FilesAs&) = delete;
  FilesAs& operator=(const FilesAs&) = delete;

  // False: this process is not the user and may not act as one, so that some of
  // its own rights count.
  bool ok() const { return ok_; }

 private:
  bool Change(uid_t uid, gid_t gid);

  const uid_t own_uid_;
  const gid_t own_gid_;
  std::optional<std::vector<gid_t>> own_groups_;  // while it has others
  bool changed_ = false;
  bool ok_ = true;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_FILES_AS_H_
