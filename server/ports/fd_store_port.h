// Where an adapter stores descriptors that must outlive this agent: its
// successor, after a restart or a handover, gets them back by their names.
#ifndef CANOPY_SERVER_PORTS_FD_STORE_PORT_H_
#define CANOPY_SERVER_PORTS_FD_STORE_PORT_H_

#include <string>
#include <utility>
#include <vector>

#include "common/posix/named_fd.h"

namespace canopy {

// Descriptors are stored per job, until the job ends. A name is unique in its
// job, begins with a prefix of its adapter, and is part of what agents of
// different releases agree on. The descriptor is a duplicate of the adapter's;
// ownership of it passes to the store. Loop thread.
class FdStorePort {
 public:
  // When a released connection leaves the store: with others that follow, or in
  // the call itself. Until then the peer of a closed connection sees no end.
  enum class Release { kBatched, kAtOnce };

  virtual ~FdStorePort() = default;

  // A memory file or a listening socket, of which a job has few. It is stored
  // when the call returns; a later one of that name replaces it. Without effect
  // for a job without processes here.
  virtual void HoldFile(const std::string& nspace, NamedFd file) = 0;
  // Connections of the job's processes, of which there may be many. False when
  // there is no room for all of them, or one is invalid: then none is stored.
  // Names that were released before, and may still be stored, are free.
  virtual bool HoldConnections(const std::string& nspace,
                               std::vector<NamedFd> connections) = 0;
  // A name that is not stored is ignored.
  virtual void ReleaseConnection(const std::string& nspace,
                                 const std::string& name, Release when) = 0;

  // HoldConnections for one.
  bool HoldConnection(const std::string& nspace, NamedFd connection) {
    std::vector<NamedFd> connections;
    connections.push_back(std::move(connection));
    return HoldConnections(nspace, std::move(connections));
  }
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_FD_STORE_PORT_H_
