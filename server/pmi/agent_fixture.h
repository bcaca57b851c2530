// An agent's PMI endpoint with one client, for tests that may restart the
// agent.
#ifndef CANOPY_SERVER_PMI_AGENT_FIXTURE_H_
#define CANOPY_SERVER_PMI_AGENT_FIXTURE_H_

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "server/pmi/pmi_endpoint.h"
#include "server/pmi/rank_states.h"
#include "server/ports/fake_fd_store.h"
#include "server/ports/fake_sink.h"

namespace canopy::pmi {

inline core::RegisterJob Registration() {
  JobSpec job;
  job.nspace = "job";
  job.apps.resize(1);
  job.nodes = {{"a", {}, 0, 4}, {"b", {}, 1, 4}};
  job.procs = {{1, 0, ""}, {0, 0, ""}, {0, 0, ""}};
  core::RegisterJob registration;
  registration.layout = std::make_shared<JobLayout>(job);
  registration.job = std::make_shared<JobSpec>(std::move(job));
  return registration;
}

// An agent's endpoint, with a fake of the core.
struct Agent {
  explicit Agent(PmiOptions options)
      : endpoint(&loop, &sink, std::move(options)) {
    const core::RegisterJob job = Registration();
    prepare = {job.job, job.layout};
    endpoint.AddJob(job);
  }
  void Settle() {
    for (int i = 0; i < 4; ++i) loop.RunOnce(0);
  }
  core::ClientId Client() const {
    return sink.All<core::ClientConnected>().at(0).client;
  }
  void Reply(core::RequestId request, int status = 0, Bytes payload = {}) {
    endpoint.Reply({Client(), request, status, std::move(payload)});
    Settle();
  }

  EventLoop loop;
  FakeSink sink;
  core::PrepareLocal prepare;
  PmiEndpoint endpoint;
};

// A client of rank 1, and its successive agents.
class AgentTest : public testing::Test {
 protected:
  AgentTest() {
    agent_ = std::make_unique<Agent>(Options());
    client_.Reset(agent_->endpoint.FdForRank(agent_->prepare, 1).fd);
    agent_->Settle();
  }

  PmiOptions Options() {
    PmiOptions options;
    options.find_key = [this](const std::string& nspace, std::string_view key) {
      return Found(nspace + "/" + std::string(key));
    };
    options.find_job_key = [this](const std::string&, std::string_view key) {
      return Found(std::string(key));
    };
    options.fd_store = &fd_store_;
    options.log = [this](const core::LogLine& l) { log_.push_back(l.text); };
    return options;
  }

  std::optional<std::string> Found(const std::string& key) const {
    const auto it = keys_.find(key);
    if (it == keys_.end()) return std::nullopt;
    return EncodeValue(Value::String(it->second).raw());
  }

  void Write(const std::string& text) {
    ASSERT_EQ(send(client_.get(), text.data(), text.size(), 0),
              static_cast<ssize_t>(text.size()));
  }
  void Send(const std::string& text) {
    Write(text);
    agent_->Settle();
  }
  std::string Receive() {
    char buffer[4096];
    const ssize_t n = recv(client_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n == 0) return "closed";
    return n < 0 ? "" : std::string(buffer, static_cast<size_t>(n));
  }
  // Ends the agent at this instruction.
  void Kill() { agent_.reset(); }
  void Restart() {
    agent_ = std::make_unique<Agent>(Options());
    std::vector<NamedFd> persisted = fd_store_.Recovered();
    for (const NamedFd& one : persisted) {
      EXPECT_TRUE(PmiEndpoint::IsPersistedName(one.name));
    }
    agent_->endpoint.Recover("job", std::move(persisted));
    agent_->Settle();
  }
  // Returns the counts of collectives that have ended for the client, as
  // reported to the core.
  std::vector<core::CollectiveCount> Counts() const {
    const auto reattached = agent_->sink.All<core::ClientReattached>();
    EXPECT_EQ(reattached.size(), 1u);
    return reattached.empty() ? std::vector<core::CollectiveCount>()
                              : reattached[0].counts;
  }
  uint64_t Barriers() const {
    const auto counts = Counts();
    if (counts.size() != 1) return 9999;
    EXPECT_TRUE(counts[0].participants.empty());
    return counts[0].ended;
  }
  // Persists a state as if the former agent had been killed before it removed
  // the command from the socket.
  void PutStates(const RankState& state) {
    const auto states = RankStates::Create(2);
    ASSERT_TRUE(states.ok());
    (*states)->Set(0, state);
    fd_store_.files["pmi1.states"].Reset(dup((*states)->fd()));
  }

  // The values that the endpoint can find. The key is NSPACE/KEY for data of
  // ranks, and KEY for data of the job.
  std::map<std::string, std::string> keys_;
  FakeFdStore fd_store_;
  std::vector<std::string> log_;
  std::unique_ptr<Agent> agent_;
  UniqueFd client_;
};

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_AGENT_FIXTURE_H_
