// The agent's private directory: sockets of its clients, of its control
// service and of its shims.
#ifndef CANOPY_SERVER_AGENT_BRING_UP_RUNTIME_DIR_H_
#define CANOPY_SERVER_AGENT_BRING_UP_RUNTIME_DIR_H_

#include <string>

#include "common/status.h"

namespace canopy::agent {

// Makes a directory of mode 0700, or takes over one that is there already and
// private, and removes it at its end if it is empty by then. The parents of a
// path that it chose itself, which agents share, are made and removed with it.
// Refuses a directory of another user or one that others may enter.
class RuntimeDir {
 public:
  // `path` empty: ${XDG_RUNTIME_DIR or /tmp}/canopy-UID/OVERLAY/NODE.
  // `remove_parent`: the parent of a given path is removed with the last
  // directory in it. When that parent is a run directory
  // (common/posix/run_dir.h), the last agent also removes the files that a
  // launcher has left there, and the user's directory above if it is empty.
  static Result<RuntimeDir> Make(const std::string& path,
                                 const std::string& overlay_name,
                                 const std::string& node_name,
                                 bool remove_parent);
  ~RuntimeDir();
  RuntimeDir(RuntimeDir&& other) noexcept;
  RuntimeDir(const RuntimeDir&) = delete;
  RuntimeDir& operator=(const RuntimeDir&) = delete;

  const std::string& path() const { return path_; }

 private:
  RuntimeDir() = default;

  std::string path_;
  int levels_ = 1;  // how many directories of the path to remove
  bool in_run_dir_ = false;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_BRING_UP_RUNTIME_DIR_H_
