// The state of another process, as the kernel reports it.
#ifndef CANOPY_SERVER_ENDPOINT_PROCESS_STATE_H_
#define CANOPY_SERVER_ENDPOINT_PROCESS_STATE_H_

namespace canopy::endpoint {

// Returns true if a signal or a debugger has stopped the process, which
// therefore cannot send the rest of a message.
bool IsStopped(int pid);

// Returns the pid of the process that has connected this Unix socket; 0 if it
// is unknown.
int PidOfPeer(int fd);

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_PROCESS_STATE_H_
