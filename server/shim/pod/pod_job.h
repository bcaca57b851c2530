// The part of a job that a container determines itself: the program, its
// environment and its libraries.
#ifndef CANOPY_SERVER_SHIM_POD_POD_JOB_H_
#define CANOPY_SERVER_SHIM_POD_POD_JOB_H_

#include <string>
#include <vector>

#include "server/shim/protocol.h"

namespace canopy::process {

// The properties of the container.
struct PodContainer {
  std::string program;            // executed; searched for like a shell's
  std::vector<std::string> argv;  // of each rank; not empty
  std::vector<std::string> env;   // the container's own environment
  std::string run_directory;      // kPodRunDirectory
  std::string files_directory;    // kPodFilesDirectory
};

// Replaces the parts of the agent's description that hold only on the agent's
// side. The ranks execute the container's program as the container's own user
// and in its directory. Their environment is the container's, overridden by
// what the agent adds, with the paths that these things have in the container.
void AdaptToContainer(const PodContainer& container, PrepareJob* job);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_POD_POD_JOB_H_
