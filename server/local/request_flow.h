// Forwards the requests of identified clients to the core, and its answers to
// them.
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

// Leaves what it sends in the connection's queue. Loop thread only. `options`,
// `jobs` and `sink` must outlive it.
class RequestFlow {
 public:
  RequestFlow(const LocalOptions* options, LocalJobs* jobs, InputSink* sink);

  // Handles a frame of an identified client, after reporting its commits. Fails
  // if the client broke the protocol.
  Status Handle(Connection& c, const FrameHeader& header,
                std::string_view payload);
  // Sends the core's answer to a request.
  void Reply(Connection& c, const core::ReplyClient& reply);
  // Reports the commits of the connection's rank.
  void TakeCommits(const Connection& c);
  // The connection is closed; call this before the core is notified.
  void OnClosed(Connection& c);

 private:
  // Returns how many processes a request may name: no more than there are. The
  // jobs of other nodes are not known here.
  size_t MaxNames(std::string_view payload) const;
  // Logs each ignored directive once, no matter how many processes use it.
  Status LogIgnored(const Connection& c, std::string_view payload);
  // These record a pending request. They return false if they have refused the
  // request, which is then answered.
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
