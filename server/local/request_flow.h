// Forwards the requests of identified clients to the core, and the core's
// answers to the clients.
#ifndef CANOPY_SERVER_LOCAL_REQUEST_FLOW_H_
#define CANOPY_SERVER_LOCAL_REQUEST_FLOW_H_

#include <set>
#include <string>
#include <string_view>

#include "common/local_protocol.h"
#include "common/status.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/input.h"
#include "server/local/connection.h"
#include "server/local/local_jobs.h"
#include "server/local/local_options.h"
#include "server/ports/input_sink.h"

namespace canopy::local {

// Frames to a client are left in its connection's queue. Loop thread only.
// `options`, `jobs` and `sink` must outlive this object.
class RequestFlow {
 public:
  RequestFlow(const LocalOptions* options, LocalJobs* jobs, InputSink* sink);

  // Handles a frame of an identified client, after reporting its commits.
  // Returns an error if the client broke the protocol.
  Status Handle(Connection& c, const FrameHeader& header,
                std::string_view payload);
  // Sends the core's answer to a request.
  void Reply(Connection& c, const core::ReplyClient& reply);
  // Reports the commits of the connection's rank.
  void TakeCommits(const Connection& c);
  // Called when the connection is closed, before the core is notified.
  void OnClosed(Connection& c);

 private:
  // Returns the maximum number of processes that a request may name. A large
  // request may name as many processes as the jobs with ranks on this node
  // have, and a limited number of others, because this endpoint does not know
  // the jobs of other nodes.
  size_t MaxNames(std::string_view payload) const;
  // Logs each ignored directive once, even if several processes use it. Returns
  // kErrUnpackFailure for a malformed payload.
  Status LogIgnored(const Connection& c, std::string_view payload);
  // These functions record a pending request. If they refuse the request, they
  // answer it and return false.
  bool NotePending(Connection& c, uint64_t tag, core::Input* input);
  bool NoteGet(Connection& c, uint64_t tag, core::GetArrived* get);
  bool NoteSpawn(Connection& c, uint64_t tag);
  void NoteReattached(Connection& c, const core::ClientReattached& resumed);
  void NoteRequest(Connection& c, const FrameHeader& header,
                   const core::Input& input);
  static void NoteConnect(Connection& c, uint64_t tag,
                          const core::CollectiveArrived& connect);
  void NoteCommit(Connection& c);
  void NoteReply(Connection& c, const core::ReplyClient& reply);
  bool IsInSegment(const Connection& c, const ProcId& target) const;
  void OfferSegment(Connection& c, const std::string& nspace);
  void OfferCopy(Connection& c, const std::string& nspace);

  const LocalOptions* const options_;
  LocalJobs* const jobs_;
  InputSink* const sink_;
  std::set<std::string> ignored_;  // directives of which the log has a line
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_REQUEST_FLOW_H_
