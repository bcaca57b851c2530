// Determines the identity of a connection from its first frame.
#ifndef CANOPY_SERVER_LOCAL_ADMISSION_H_
#define CANOPY_SERVER_LOCAL_ADMISSION_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "common/local_protocol.h"
#include "common/posix/unix_socket.h"
#include "common/status.h"
#include "server/endpoint/newcomer.h"
#include "server/endpoint/tool_registry.h"
#include "server/local/connection.h"
#include "server/local/frames.h"
#include "server/local/local_jobs.h"
#include "server/local/local_options.h"

namespace canopy::local {

// Loop thread only. `options` and `jobs` must outlive this object.
class Admission {
 public:
  Admission(const LocalOptions* options, LocalJobs* jobs);

  // Handles the Hello of an unidentified connection. On success the connection
  // belongs to the rank, and the answer is in its queue, with the descriptors
  // of the shared memory that the rank may use. An error means that the
  // connection is rejected.
  Status Identify(Connection& c, const FrameHeader& header,
                  std::string_view payload);

  // Handles the first frame of a tool, which must run as the agent's user or as
  // another user who is served. A tool that claims no name gets `name`, or a
  // unique name if the namespace of `name` is empty. An error means that the
  // connection is rejected.
  Status IdentifyTool(Connection& c, const FrameHeader& header,
                      std::string_view payload, const ProcId& name);
  // Makes the checks of Identify or, if `is_tool`, of IdentifyTool, and returns
  // the identity, but queues no welcome. A rank's connection counts toward its
  // rank's limit from then on. An error means that the connection is rejected.
  Result<endpoint::Newcomer> Recognise(Connection& c, bool is_tool,
                                       std::string_view payload);
  // Records that a connection is closed.
  void OnClosed(const Connection& c);

  // Sets how long clients try to reattach, in milliseconds. A client's welcome
  // contains this time.
  void set_reattach_ms(uint32_t ms) { reattach_ms_ = ms; }

 private:
  Result<endpoint::Newcomer> ProveRank(const Connection& c,
                                       const Hello& hello) const;
  Result<endpoint::Newcomer> ProveTool(const Connection& c,
                                       const ProcId& claimed) const;
  bool ServesToolsOf(uint32_t uid) const;
  // Decides by the rank's token and either the user or the pod of the peer.
  Status CheckRank(const Connection& c, const PeerCredentials& peer,
                   const ProcId& proc, const Hello& hello) const;
  void Count(Connection& c, const ProcId& rank);
  void Welcome(Connection& c, uint64_t tag, const SegmentRef& segment);
  // Opens the rank's mailbox for the connection. Returns the size of the
  // mailboxes.
  uint64_t OfferMailboxes(Connection& c, const BarrierOffer& barrier);

  const LocalOptions* const options_;
  LocalJobs* const jobs_;
  const std::shared_ptr<endpoint::ToolRegistry> tools_;
  // Identifies this agent, so that a client detects a successor.
  const uint64_t epoch_;
  uint32_t reattach_ms_;
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_ADMISSION_H_
