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
#include "server/openpmix/tool_file.h"

namespace canopy::agent {
namespace {

constexpr int64_t kMillisecond = 1000 * 1000;
// How long a handover waits for connections that have not identified
// themselves.
constexpr int64_t kGreetingsNs = 1000 * kMillisecond;

}  // namespace

void Agent::Impl::PersistOpenPmixConnections(
    openpmix::OpenPmixOptions* options) {
  options->persist = [this](const std::string& nspace, const std::string& name,
                            UniqueFd fd) {
    process_->Hold(nspace, name, std::move(fd));
  };
  options->persist_connection = [this](const std::string& nspace,
                                       const std::string& name, UniqueFd fd) {
    return process_->HoldConnection(nspace, name, std::move(fd));
  };
  options->release_connection = [this](const std::string& nspace,
                                       const std::string& name, bool at_once) {
    process_->ReleaseConnection(nspace, name, at_once);
  };
}

void Agent::Impl::PersistPmi1Connections(pmi1::Pmi1Options* options) {
  options->persist = [this](const std::string& nspace, NamedFd file) {
    process_->Hold(nspace, file.name, std::move(file.fd));
  };
  options->persist_sockets = [this](const std::string& nspace,
                                    std::vector<NamedFd> sockets) {
    return process_->HoldConnections(nspace, std::move(sockets));
  };
  options->release_socket = [this](const std::string& nspace,
                                   const std::string& name) {
    process_->ReleaseConnection(nspace, name, /*at_once=*/false);
  };
}

void Agent::Impl::FindRecoverableJobs() {
  // The predecessor's files would lead to a dead agent.
  openpmix::ToolFile::RemoveAll(dir_->path());
  bool done = false;
  process_->Recover([&](std::vector<process::RecoveredJob> jobs) {
    found_ = std::move(jobs);
    done = true;
  });
  while (!done) loop_.RunOnce(50);
}

// The predecessor's listening socket for OpenPMIx clients, which may be
// connecting.
UniqueFd Agent::Impl::RecoveredListener() {
  for (process::RecoveredJob& job : found_) {
    for (NamedFd& held : job.held) {
      if (held.name == openpmix::OpenPmixEndpoint::kListenerName) {
        return std::move(held.fd);
      }
    }
  }
  return UniqueFd();
}

void Agent::Impl::RecoverJobs() {
  if (!restarted_ || persistent_state_ == nullptr) return;
  ControlledJobs controlled;
  std::vector<control::PersistedJob> persisted;
  for (ControlledJob& job : persistent_state_->FindControlled()) {
    persisted.push_back(job.persisted);
    controlled[job.persisted.job->nspace] = std::move(job);
  }
  job_manager_.Recover(persisted);
  datastore_->RecoverDirectories(true);
  for (process::RecoveredJob& job : found_) {
    RecoverJob(&job, controlled.extract(job.job->nspace));
  }
  for (auto& [nspace, job] : controlled) {
    core::JobRecovered recovered;
    recovered.job = job.persisted.job;
    recovered.has_shim = false;
    recovered.control = job.state;
    recovered.over = job.persisted.end.has_value();
    OnInput(std::move(recovered));
  }
  openpmix_->FinishRecovery();
  found_.clear();
  datastore_->RecoverDirectories(false);
}

void Agent::Impl::RecoverJob(process::RecoveredJob* job,
                             ControlledJobs::node_type own) {
  const std::string nspace = job->job->nspace;
  core::JobRecovered recovered = persistent_state_->Read(job);
  if (own) {
    recovered.control = own.mapped().state;
    recovered.over = own.mapped().persisted.end.has_value();
  }
  local_->RecoverMailboxes(nspace, PersistentState::RecoveredMailboxes(job));
  OnInput(std::move(recovered));
  local_->RecoverMailboxes(nspace, UniqueFd());
  persistent_state_->OnRecovered(nspace);
  process_->ResumeReports(nspace);
  std::vector<NamedFd> openpmix;
  std::vector<NamedFd> pmi1;
  for (NamedFd& held : job->held) {
    if (openpmix::OpenPmixEndpoint::IsPersistedName(held.name)) {
      openpmix.push_back(std::move(held));
    } else if (pmi1::Pmi1Endpoint::IsPersistedName(held.name)) {
      pmi1.push_back(std::move(held));
    }
  }
  openpmix_->Recover(nspace, std::move(openpmix));
  pmi1_->Recover(nspace, std::move(pmi1));
}

void Agent::Impl::Save(const bootstrap::v1::Members& members) {
  bootstrap::v1::AgentState state;
  *state.mutable_config() = config_;
  state.mutable_config()->set_runtime_dir(dir_->path());
  state.mutable_config()->set_pmix_port(openpmix_->port());
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

Status Agent::Impl::CheckSuccessor(const std::string& path) const {
  if (persistent_state_ == nullptr || ending_) {
    return Status(kErrNotSupported, ending_
                                        ? "this agent is ending"
                                        : "this agent ends with its launcher");
  }
  if (job_manager_.num_bound() > 0) {
    return Status(kErrResourceBusy,
                  "this agent controls " +
                      std::to_string(job_manager_.num_bound()) +
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

// Requests are read to their end and replies flushed; the rest the successor
// recovers from shims, clients and the other agents.
void Agent::Impl::HandOver(const std::string& program,
                           const std::function<void(const Status&)>& done) {
  const std::string path =
      program.empty() ? Beside("CANOPYD", "canopyd") : program;
  const Status may = CheckSuccessor(path);
  done(may);
  if (!may.ok()) return;
  spdlog::info("making way for {}", path);
  job_manager_.AnnounceHandover(kHandoverMs);
  process_->PrepareHandover(kHandoverMs);
  local_->PrepareHandover(kHandoverMs);
  openpmix_->PrepareHandover();
  const int64_t deadline = EventLoop::Now() + kGreetingsNs;
  const auto exec_successor = [this, path, deadline] {
    loop_.Defer([this, path, deadline] { ExecSuccessor(path, deadline); });
  };
  if (!overlay_) return exec_successor();
  overlay_->AnnounceHandover(kHandoverMs, exec_successor);
}

void Agent::Impl::ExecSuccessor(const std::string& program, int64_t deadline) {
  if (!openpmix_->AllIdentified() && EventLoop::Now() < deadline) {
    loop_.AddTimer(kMillisecond, [this, program, deadline] {
      ExecSuccessor(program, deadline);
    });
    return;
  }
  local_->Quiesce();
  openpmix_->Quiesce();
  run_server_.Flush();
  // The requester of the handover must have its answer.
  network_server_.LetAnswersLeave();
  control_server_.LetAnswersLeave();
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  files_.Restore();
  const std::string directory = dir_->path();
  execl(program.c_str(), "canopyd", "--continue", directory.c_str(), nullptr);
  spdlog::error("cannot become {}: {}", program, std::strerror(errno));
  // Clients, shims and neighbours wait for a successor, so there must be one.
  execl("/proc/self/exe", "canopyd", "--continue", directory.c_str(), nullptr);
  End("it could not be replaced");
}

}  // namespace canopy::agent
