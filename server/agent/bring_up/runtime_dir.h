// The agent's private directory, with the sockets of its clients, its control
// service and its shims.
#ifndef CANOPY_SERVER_AGENT_BRING_UP_RUNTIME_DIR_H_
#define CANOPY_SERVER_AGENT_BRING_UP_RUNTIME_DIR_H_

#include <string>

#include "common/status.h"

namespace canopy::agent {

// Creates a directory of mode 0700, or uses an existing private one, and
// removes it on destruction if it is empty. A directory that belongs to another
// user, or that others may enter, is rejected. The directory of an agent that
// serves all users has mode 0711 (MakeSearchableDir). If the agent itself
// chooses the path, its two parents are shared by agents: each agent creates
// those that are missing, and the last one removes them.
class RuntimeDir {
 public:
  // If `path` is empty, uses ${XDG_RUNTIME_DIR or
  // /tmp}/canopy-UID/OVERLAY/NODE. With `remove_parent`, the parent of a given
  // path is removed with the last directory in it. If that parent is a run
  // directory (common/posix/run_dir.h), the last agent also removes the files
  // that a launcher has left there, and the user's directory above it if that
  // is empty. With `searchable`, other users may enter the directory; its path
  // must be given.
  //
  // Returns kErrBadParam if the path is too long for sockets in the directory,
  // and fails like MakePrivateDir.
  static Result<RuntimeDir> Make(const std::string& path,
                                 const std::string& overlay_name,
                                 const std::string& node_name,
                                 bool remove_parent, bool searchable = false);
  ~RuntimeDir();
  RuntimeDir(RuntimeDir&& other) noexcept;
  RuntimeDir(const RuntimeDir&) = delete;
  RuntimeDir& operator=(const RuntimeDir&) = delete;

  const std::string& path() const { return path_; }

 private:
  RuntimeDir() = default;

  std::string path_;
  int levels_ = 1;  // number of directories to remove
  bool in_run_dir_ = false;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_BRING_UP_RUNTIME_DIR_H_
