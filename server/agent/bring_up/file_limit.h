// How many files the agent may have open: a connection for each rank and more.
#ifndef CANOPY_SERVER_AGENT_BRING_UP_FILE_LIMIT_H_
#define CANOPY_SERVER_AGENT_BRING_UP_FILE_LIMIT_H_

#include <sys/resource.h>

namespace canopy::agent {

// Makes it as many as it may be, while one exists: the soft limit becomes the
// hard one. Others of this process may open files meanwhile.
class FileLimit {
 public:
  FileLimit();
  ~FileLimit() { Restore(); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

  // The soft limit that this process came with, which those it starts are to
  // have; 0 when nothing is known of it.
  rlim_t original() const { return known_ ? before_.rlim_cur : 0; }
  // For a program that is executed in the place of this one.
  void Restore();

 private:
  rlimit before_ = {};
  bool known_ = false;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_BRING_UP_FILE_LIMIT_H_
