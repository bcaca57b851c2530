// Lies between the endpoints of local processes and the core, and turns each
// request that the host decides into a call of a function of the host.
#ifndef CANOPY_SERVER_LIBRARY_CLIENT_GATE_H_
#define CANOPY_SERVER_LIBRARY_CLIENT_GATE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/ids.h"
#include "common/values/info_list.h"
#include "pmix_server.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"
#include "server/core/step/input.h"
#include "server/endpoint/newcomer.h"
#include "server/library/arrivals.h"
#include "server/library/cleanups.h"
#include "server/library/host_requests.h"
#include "server/library/hosted_jobs.h"
#include "server/library/hosted_output.h"
#include "server/library/outside_keys.h"
#include "server/library/upcalls.h"
#include "server/library/wanted_events.h"
#include "server/ports/input_sink.h"

namespace canopy::library {

// An event for the handlers of the host's own process.
struct HostEvent {
  int status = 0;
  ProcId source;
  uint8_t range = 0;
  Bytes info;  // codec form: SIZE n, then n INFO
};

// The sink of the endpoints; inputs that do not concern the host are forwarded
// to the core. If the host does not have a function, the request fails with
// kErrNotSupported. Loop thread only.
class ClientGate : public InputSink {
 public:
  struct Parts {
    EventLoop* loop = nullptr;
    InputSink* core = nullptr;
    const canopy_server_module_t* module = nullptr;
    Upcalls* upcalls = nullptr;
    const HostedJobs* jobs = nullptr;
    Arrivals* arrivals = nullptr;
    Cleanups* cleanups = nullptr;
    // Answers a request that was not forwarded to the core.
    std::function<void(const core::ReplyClient& reply)> reply;
    // Called when local processes have committed data.
    std::function<void()> on_commit;
    std::function<void(HostEvent event)> raise;
    HostedOutput* output = nullptr;
    OutsideKeys* outside = nullptr;
  };
  // The objects to which the parts refer outlive the gate.
  explicit ClientGate(Parts parts);

  void OnInput(core::Input input) override;
  void Drain() override { p_.core->Drain(); }

  // Requests the host's consent before a process gets its welcome
  // (endpoint::AskAboutNewcomer). A rank waits for the answer of
  // client_connected2; the older function client_connected need not answer, so
  // only its status counts. A tool waits for its name. A tool is refused if the
  // host has no function for tools (kErrNotSupported), or if too many tools
  // wait (kErrResourceBusy).
  void Ask(const endpoint::Newcomer& who,
           std::function<void(endpoint::Verdict)> done);

  // Returns the open connections of a process in ascending order.
  std::set<core::ClientId> ClientsOf(const ProcId& proc) const;

 private:
  struct Caller {
    ProcId proc;
    bool is_tool = false;
    bool finalized = false;
    uint32_t uid = 0;  // for a tool
    uint32_t gid = 0;  // for a tool
  };

  // Each function returns true if it has handled the input, and false if the
  // core is to handle it.
  bool Take(const core::ClientConnected& in);
  bool Take(const core::ClientGone& in);
  bool Take(const core::CollectiveArrived& in);
  bool Take(const core::LocalFenceArrived& in);
  bool Take(const core::FinalizeArrived& in);
  bool Take(const core::AbortArrived& in);
  bool Take(const core::EventRaised& in);
  bool Take(const core::Committed& in);
  bool Take(const core::CommitTaken& in);
  bool Take(const core::EventsWanted& in);
  bool Take(const core::EventsUnwanted& in);
  bool Take(const core::PublishArrived& in);
  bool Take(const core::LookupArrived& in);
  bool Take(const core::UnpublishArrived& in);
  bool Take(const core::SpawnArrived& in);
  bool Take(const core::QueryArrived& in);
  bool Take(const core::HostCallArrived& in);
  // Inputs of all other types are for the core.
  template <typename T>
  bool Take(const T&) {
    return false;
  }

  const Caller* Find(core::ClientId client) const;
  void AskAboutRank(const HostedClient& client,
                    std::function<void(endpoint::Verdict)> done);
  void AskAboutTool(const endpoint::Newcomer& tool,
                    std::function<void(endpoint::Verdict)> done);
  void ReportLost(const ProcId& proc);
  // Answers in a later round, because endpoints are not called back while they
  // pass an input.
  void Answer(core::ClientId client, core::RequestId request, int status,
              std::string payload = {});

  // Returns the client as a caller of the host; no value if it is not
  // connected.
  std::optional<HostCaller> CallerOf(core::ClientId client) const;
  template <typename T>
  bool AskHost(const T& in,
               void (HostRequests::*ask)(const HostCaller&, const T&));

  const Parts p_;
  HostRequests requests_;
  WantedEvents events_;
  std::map<core::ClientId, Caller> callers_;
  uint32_t tools_asked_about_ = 0;  // tools that wait for the host's answer
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_CLIENT_GATE_H_
