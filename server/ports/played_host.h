// A host whose decisions a test plays: what an implementation of HostPort
// offers to the suites of host_contract_testing.h.
#ifndef CANOPY_SERVER_PORTS_PLAYED_HOST_H_
#define CANOPY_SERVER_PORTS_PLAYED_HOST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/host_op.h"
#include "common/ids.h"
#include "server/ports/host_port.h"
#include "server/ports/input_sink.h"

namespace canopy {

// A call that has come to who decides.
struct HeardCall {
  ProcId source;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::string identity;  // the same when it comes again, and of no other call
};

// A host, and who decides behind it, whom the test plays. One thread.
class PlayedHost {
 public:
  virtual ~PlayedHost() = default;
  virtual HostPort* port() = 0;
  // In the order in which they came, also those that came again.
  virtual std::vector<HeardCall> Heard() = 0;
  // Of Heard()[call], answered before or not; `result`: the value of
  // "test.result" in the results.
  virtual void Answer(size_t call, int status, const std::string& result) = 0;
  // Until then, or for ten seconds.
  virtual void RunUntil(const std::function<bool()>& done) = 0;
  // The port is gone; who decides is not.
  virtual void Destroy() = 0;
};

// One whose decider may be silent, wrong or away.
class RemotePlayedHost : public PlayedHost {
 public:
  // It was told that nobody waits for its answer.
  virtual bool Cancelled(size_t call) = 0;
  virtual void AnswerMalformed(size_t call) = 0;
  virtual void Fail(size_t call) = 0;
  virtual void GoAway() = 0;
  virtual void ComeBack() = 0;
};

// `implemented`: what who decides implements, of all that there is.
template <typename Host>
struct HostKind {
  std::string name;
  std::function<std::unique_ptr<Host>(InputSink* sink,
                                      std::set<HostOp> implemented)>
      make;
  std::set<HostOp> without_results = {};  // their answer is a status
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_PLAYED_HOST_H_
