// A host whose decisions a test makes, for the test suites of
// host_contract_testing.h.
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

// A call that the decider has received.
struct HeardCall {
  ProcId source;
  uint32_t uid = 0;
  uint32_t gid = 0;
  // The same for a repetition of the call, and different for any other call.
  std::string identity;
};

// A host and the decider behind it. The test acts as the decider. Used by one
// thread.
class PlayedHost {
 public:
  virtual ~PlayedHost() = default;
  virtual HostPort* port() = 0;
  // Returns the calls in the order of their arrival, including repeated ones.
  virtual std::vector<HeardCall> Heard() = 0;
  // Answers call Heard()[call], whether or not it was answered before. `result`
  // is the value of "test.result" in the results.
  virtual void Answer(size_t call, int status, const std::string& result) = 0;
  // Runs until `done` returns true, for at most ten seconds.
  virtual void RunUntil(const std::function<bool()>& done) = 0;
  // Destroys the port, but not the decider.
  virtual void Destroy() = 0;
};

// A host whose decider may be silent, wrong or unreachable.
class RemotePlayedHost : public PlayedHost {
 public:
  // Returns true if the decider was notified that its answer is no longer
  // needed.
  virtual bool Cancelled(size_t call) = 0;
  // Answers the call with bytes that cannot be decoded.
  virtual void AnswerMalformed(size_t call) = 0;
  // Answers the call with an error of the decider.
  virtual void Fail(size_t call) = 0;
  virtual void GoAway() = 0;
  virtual void ComeBack() = 0;
};

// `implemented`: the operations that the decider implements.
template <typename Host>
struct HostKind {
  std::string name;
  std::function<std::unique_ptr<Host>(InputSink* sink,
                                      std::set<HostOp> implemented)>
      make;
  // Operations whose answer is only a status.
  std::set<HostOp> without_results = {};
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_PLAYED_HOST_H_
