// The host that is part of the agent. It decides the requests of processes that
// a scheduler does not decide.
#ifndef CANOPY_SERVER_HOST_EMBEDDED_HOST_H_
#define CANOPY_SERVER_HOST_EMBEDDED_HOST_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/host_op.h"
#include "common/status.h"
#include "server/core/step/host.h"
#include "server/ports/host_port.h"
#include "server/ports/input_sink.h"

namespace canopy::host {

// Loop thread only.
class EmbeddedHost : public HostPort {
 public:
  // `results` is in codec form (SIZE n, then n INFO), or empty.
  using Answer = std::function<void(const Status& status, Bytes results)>;
  // Decides a call: calls its second argument once, immediately or later.
  // Further answers are dropped, and so are answers after the end of the
  // caller's job or of this object.
  using Decider = std::function<void(const core::AskHost&, Answer)>;
  using Drop = std::function<void(const std::string& nspace)>;

  // The sink must outlive this object.
  explicit EmbeddedHost(InputSink* sink)
      : sink_(sink), open_(std::make_shared<OpenCalls>()) {}

  // Sets the decider of the calls of one operation. Operations without a
  // decider are answered with kErrNotSupported.
  void Decide(HostOp op, Decider decider) {
    deciders_[op] = std::move(decider);
  }
  // Adds a function that DropJob calls.
  void OnDrop(Drop drop) { drops_.push_back(std::move(drop)); }

  void Ask(const core::AskHost& request) override;
  void DropJob(const std::string& nspace) override;

 private:
  // The namespaces of the callers of pending calls, by the number of the call.
  using OpenCalls = std::map<uint64_t, std::string>;

  InputSink* const sink_;
  const std::shared_ptr<OpenCalls> open_;
  std::map<HostOp, Decider> deciders_;
  std::vector<Drop> drops_;
};

}  // namespace canopy::host

#endif  // CANOPY_SERVER_HOST_EMBEDDED_HOST_H_
