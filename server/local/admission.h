// Decides who a connection is, by its first frame.
#ifndef CANOPY_SERVER_LOCAL_ADMISSION_H_
#define CANOPY_SERVER_LOCAL_ADMISSION_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "common/local_protocol.h"
#include "common/status.h"
#include "server/endpoint/newcomer.h"
#include "server/endpoint/tool_registry.h"
#include "server/local/connection.h"
#include "server/local/frames.h"
#include "server/local/local_jobs.h"
#include "server/local/local_options.h"

namespace canopy::local {

// Loop thread only. `options` and `jobs` outlive it.
class Admission {
 public:
  Admission(const LocalOptions* options, LocalJobs* jobs);

  // Handles the Hello of a connection that is not identified. When it succeeds
  // the connection is a rank's, and the answer is queued in it; what the rank
  // may use of the job's shared memory goes with that answer.
  Status Identify(Connection& c, const FrameHeader& header,
                  std::string_view payload);

  // The same for the first frame of a tool, which is nobody's rank: it is one
  // of the agent's own user, or of one that is served too. `name`: for one that
  // brings none; with an empty namespace it gets another that is unique.
  Status IdentifyTool(Connection& c, const FrameHeader& header,
                      std::string_view payload, const ProcId& name);
  // Who it is by that frame, without a welcome: the same checks. From now on a
  // rank's connection counts as one of its rank's.
  Result<endpoint::Newcomer> Recognise(Connection& c, bool is_tool,
                                       std::string_view payload);
  // A connection is closed.
  void OnClosed(const Connection& c);

  // From now on clients learn that they may try so long to reattach.
  void set_reattach_ms(uint32_t ms) { reattach_ms_ = ms; }

 private:
  Result<endpoint::Newcomer> ProveRank(const Connection& c,
                                       const Hello& hello) const;
  Result<endpoint::Newcomer> ProveTool(const Connection& c,
                                       const ToolHello& hello) const;
  bool ServesToolsOf(uint32_t uid) const;
  void Count(Connection& c, const ProcId& rank);
  void Admit(Connection& c, const Hello& hello);
  void Welcome(Connection& c, uint64_t tag, uint64_t version,
               const SegmentRef& segment);
  MailboxOffer OfferMailboxes(Connection& c, uint64_t version,
                              const BarrierOffer& barrier);

  const LocalOptions* const options_;
  LocalJobs* const jobs_;
  const std::shared_ptr<endpoint::ToolRegistry> tools_;
  const uint64_t epoch_;  // of this agent; a client sees by it that it changed
  uint32_t reattach_ms_;
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_ADMISSION_H_
