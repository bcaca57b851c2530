#include <linux/close_range.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/agent/agent_impl.h"
#include "server/agent/agent_state.h"
#include "server/agent/settings.h"
#include "server/stock/tool_file.h"

namespace canopy::agent {
namespace {

constexpr int64_t kMillisecond = 1000 * 1000;
// How long it is put off for those who have connected and not said who they
// are.
constexpr int64_t kGreetingsNs = 1000 * kMillisecond;

}  // namespace

void Agent::Impl::KeepStockConnections(stock::StockOptions* options) {
  options->keep = [this](const std::string& nspace, const std::string& name,
                         UniqueFd fd) {
    process_->Hold(nspace, name, std::move(fd));
  };
  options->keep_connection = [this](const std::string& nspace,
                                    const std::string& name, UniqueFd fd) {
    return process_->HoldConnection(nspace, name, std::move(fd));
  };
  options->release_connection = [this](const std::string& nspace,
                                       const std::string& name, bool at_once) {
    process_->ReleaseConnection(nspace, name, at_once);
  };
}

void Agent::Impl::KeepPmi1Connections(pmi1::Pmi1Options* options) {
  options->keep = [this](const std::string& nspace, NamedFd file) {
    process_->Hold(nspace, file.name, std::move(file.fd));
  };
  options->keep_sockets = [this](const std::string& nspace,
                                 std::vector<NamedFd> sockets) {
    return process_->HoldConnections(nspace, std::move(sockets));
  };
  options->release_socket = [this](const std::string& nspace,
                                   const std::string& name) {
    process_->ReleaseConnection(nspace, name, /*at_once=*/false);
  };
}

void Agent::Impl::FindJobs() {
  // Those of the former agent would lead nowhere.
  stock::ToolFile::RemoveAll(dir_->path());
  bool done = false;
  process_->Recover([&](std::vector<process::RecoveredJob> jobs) {
    found_ = std::move(jobs);
    done = true;
  });
  while (!done) loop_.RunOnce(50);
}

// Where a former agent listened for programs with their own library; they may
// be connecting.
UniqueFd Agent::Impl::FormerListener() {
  for (process::RecoveredJob& job : found_) {
    for (NamedFd& held : job.held) {
      if (held.name == stock::StockEndpoint::kListenerName) {
        return std::move(held.fd);
      }
    }
  }
  return UniqueFd();
}

void Agent::Impl::TakeUpJobs() {
  if (!restarted_ || recovery_ == nullptr) return;
  ControlledJobs controlled;
  std::vector<control::KeptJob> kept;
  for (ControlledJob& job : recovery_->FindControlled()) {
    kept.push_back(job.kept);
    controlled[job.kept.job->nspace] = std::move(job);
  }
  controller_.Recover(kept);
  datastore_->TakeOverDirectories(true);
  for (process::RecoveredJob& job : found_) {
    TakeUp(&job, controlled.extract(job.job->nspace));
  }
  for (auto& [nspace, job] : controlled) {
    core::JobRecovered recovered;
    recovered.job = job.kept.job;
    recovered.has_shim = false;
    recovered.control = job.state;
    recovered.over = job.kept.end.has_value();
    OnInput(std::move(recovered));
  }
  stock_->FinishResume();
  found_.clear();
  datastore_->TakeOverDirectories(false);
}

void Agent::Impl::TakeUp(process::RecoveredJob* job,
                         ControlledJobs::node_type own) {
  const std::string nspace = job->job->nspace;
  core::JobRecovered recovered = recovery_->Read(job);
  if (own) {
    recovered.control = own.mapped().state;
    recovered.over = own.mapped().kept.end.has_value();
  }
  local_->Inherit(nspace, Recovery::FormerBoxes(job));
  OnInput(std::move(recovered));
  local_->Inherit(nspace, UniqueFd());
  recovery_->Adopted(nspace);
  process_->Resume(nspace);
  std::vector<NamedFd> stock;
  std::vector<NamedFd> pmi1;
  for (NamedFd& held : job->held) {
    if (stock::StockEndpoint::IsKeptName(held.name)) {
      stock.push_back(std::move(held));
    } else if (pmi1::Pmi1Endpoint::IsKeptName(held.name)) {
      pmi1.push_back(std::move(held));
    }
  }
  stock_->Resume(nspace, std::move(stock));
  pmi1_->Resume(nspace, std::move(pmi1));
}

void Agent::Impl::Save(const bootstrap::v1::Members& members) {
  bootstrap::v1::AgentState state;
  *state.mutable_config() = config_;
  state.mutable_config()->set_runtime_dir(dir_->path());
  state.mutable_config()->set_pmix_port(stock_->port());
  if (overlay_) {
    state.mutable_config()->set_listen(overlay_->address());
    state.mutable_config()->set_control_listen(network_server_.address());
  }
  *state.mutable_members() = members;
  if (config_.self() < static_cast<uint32_t>(members.nodes_size())) {
    *state.mutable_members()->mutable_nodes(static_cast<int>(config_.self())) =
        info_;
  }
  const Status status = SaveState(dir_->path(), state);
  if (!status.ok()) {
    spdlog::warn("this agent can not be restarted: {}", status.message());
  }
}

Status Agent::Impl::MayBecome(const std::string& path) const {
  if (recovery_ == nullptr || ending_) {
    return Status(kErrNotSupported, ending_
                                        ? "this agent is ending"
                                        : "this agent ends with its launcher");
  }
  if (controller_.num_bound() > 0) {
    return Status(kErrResourceBusy,
                  "this agent controls " +
                      std::to_string(controller_.num_bound()) +
                      " job(s) that would end with it, as an older 'canopy "
                      "run' can not go on with another agent; try again when "
                      "they are over, or end them with 'canopy kill'");
  }
  if (access(path.c_str(), X_OK) != 0) {
    return Status(kErrNotFound,
                  "cannot execute " + path + ": " + std::strerror(errno));
  }
  return Status();
}

// What clients have sent is read to its end and what they are owed is sent;
// the rest the next agent learns from shims, clients and the other agents.
void Agent::Impl::Replace(const std::string& program,
                          const std::function<void(const Status&)>& done) {
  const std::string path =
      program.empty() ? Beside("CANOPYD", "canopyd") : program;
  const Status may = MayBecome(path);
  done(may);
  if (!may.ok()) return;
  spdlog::info("making way for {}", path);
  controller_.SayAway(kReplaceMs);
  process_->AwaitSuccessor(kReplaceMs);
  local_->AwaitSuccessor(kReplaceMs);
  stock_->AwaitSuccessor();
  const int64_t deadline = EventLoop::Now() + kGreetingsNs;
  const auto become = [this, path, deadline] {
    loop_.Defer([this, path, deadline] { Become(path, deadline); });
  };
  if (!overlay_) return become();
  overlay_->AnnounceAway(kReplaceMs, become);
}

void Agent::Impl::Become(const std::string& program, int64_t deadline) {
  if (!stock_->Settled() && EventLoop::Now() < deadline) {
    loop_.AddTimer(kMillisecond,
                   [this, program, deadline] { Become(program, deadline); });
    return;
  }
  local_->Quiesce();
  stock_->Quiesce();
  run_server_.Flush();
  // Whoever asked for this must have its answer.
  network_server_.LetAnswersLeave();
  control_server_.LetAnswersLeave();
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  files_.Restore();
  const std::string directory = dir_->path();
  execl(program.c_str(), "canopyd", "--continue", directory.c_str(), nullptr);
  spdlog::error("cannot become {}: {}", program, std::strerror(errno));
  // Everybody waits for a successor, so there must be one.
  execl("/proc/self/exe", "canopyd", "--continue", directory.c_str(), nullptr);
  End("it could not be replaced");
}

}  // namespace canopy::agent
