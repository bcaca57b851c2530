// Raises the limit of open files, because an agent needs at least one
// descriptor for each rank of its node.
#ifndef CANOPY_SERVER_AGENT_BRING_UP_FILE_LIMIT_H_
#define CANOPY_SERVER_AGENT_BRING_UP_FILE_LIMIT_H_

#include <sys/resource.h>

namespace canopy::agent {

// Raises the soft limit to the hard limit while the object exists.
class FileLimit {
 public:
  FileLimit();
  ~FileLimit() { Restore(); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

  // Returns the soft limit with which this process was started, and which its
  // child processes get; 0 if it is not known.
  rlim_t original() const { return known_ ? before_.rlim_cur : 0; }
  // Restores the limit for a program that is executed in place of this program.
  void Restore();

 private:
  rlimit before_ = {};
  bool known_ = false;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_BRING_UP_FILE_LIMIT_H_
