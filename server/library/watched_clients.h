// Wraps an endpoint of local processes, and records its answers to collectives
// in Arrivals.
#ifndef CANOPY_SERVER_LIBRARY_WATCHED_CLIENTS_H_
#define CANOPY_SERVER_LIBRARY_WATCHED_CLIENTS_H_

#include <string>

#include "server/library/arrivals.h"
#include "server/ports/client_port.h"

namespace canopy::library {

// `endpoint` and `arrivals` outlive the object. Loop thread only.
class WatchedClients : public ClientPort {
 public:
  WatchedClients(ClientPort* endpoint, Arrivals* arrivals)
      : endpoint_(endpoint), arrivals_(arrivals) {}

  void AddJob(const core::RegisterJob& job) override { endpoint_->AddJob(job); }
  void DropJob(const std::string& nspace) override {
    endpoint_->DropJob(nspace);
  }
  void Reply(const core::ReplyClient& reply) override {
    arrivals_->Remove(reply.client, reply.request);
    endpoint_->Reply(reply);
  }
  void ReleaseFence(const core::ReleaseFence& release) override {
    for (const core::ClientId client : release.clients) {
      arrivals_->RemoveAtBarrier(client);
    }
    endpoint_->ReleaseFence(release);
  }
  void Notify(const core::NotifyClient& event) override {
    endpoint_->Notify(event);
  }
  void Close(core::ClientId client, const std::string& reason) override {
    endpoint_->Close(client, reason);
  }
  void TakeCommits(const ProcId& proc) override {
    endpoint_->TakeCommits(proc);
  }
  void AwaitCommit(const ProcId& proc) override {
    endpoint_->AwaitCommit(proc);
  }

 private:
  ClientPort* const endpoint_;
  Arrivals* const arrivals_;
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_WATCHED_CLIENTS_H_
