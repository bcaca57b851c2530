#include "server/control/hosted_launcher.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/describe.h"

namespace canopy::control {
namespace {

constexpr uint32_t kChannelStderr = 4;

struct ReceivedOutput {
  std::string nspace;
  std::vector<uint64_t> bytes;  // for each node
};

template <typename V>
void Describe(V& v, wire::Is<ReceivedOutput> auto& m) {
  v.Field(1, m.nspace);
  v.Field(2, m.bytes);
}

// The state that Events::persist stores.
struct StoredState {
  uint64_t output = 0;
  uint64_t error = 0;
  std::vector<ReceivedOutput> received;
};

template <typename V>
void Describe(V& v, wire::Is<StoredState> auto& m) {
  v.Always(1, m.output);
  v.Field(2, m.error);
  v.Field(3, m.received);
}

}  // namespace

HostedLauncher::HostedLauncher(EventLoop* loop, Events events)
    : loop_(loop), events_(std::move(events)) {}

HostedLauncher::~HostedLauncher() { *alive_ = false; }

void HostedLauncher::Open(const HostOutput& output,
                          std::optional<OutputPositions> from,
                          std::shared_ptr<void> held,
                          OutputWriter::Opened opened) {
  writer_ = std::make_unique<OutputWriter>(
      loop_, output, from, std::move(held), std::move(opened),
      [this](size_t pieces, const OutputPositions& at, const Status& status) {
        OnWritten(pieces, at, status);
      });
}

void HostedLauncher::Begin(const HostOutput& output, std::shared_ptr<void> held,
                           std::function<void(const Status& status)> opened) {
  Open(output, std::nullopt, std::move(held),
       [this, alive = alive_, opened = std::move(opened)](
           const Status& status, const OutputPositions& begin) {
         opened(status);
         if (*alive && status.ok()) events_.persist(State(begin));
       });
}

void HostedLauncher::Reattach(const HostOutput& output,
                              const std::string& token,
                              std::string_view state) {
  std::optional<OutputPositions> from;
  if (!state.empty()) {
    from.emplace();
    if (!TakeState(state, &*from)) received_.clear();
  }
  Open(output, from, nullptr, [this](const Status& status, const auto&) {
    if (status.ok()) return;
    events_.warn(status.message() + "; what follows is dropped");
  });
  v1::RunRequest request;
  v1::Reattach* const reattach = request.mutable_reattach();
  reattach->set_token(token);
  for (const auto& [nspace, bytes] : received_) {
    auto* const to = nspace.empty()
                         ? reattach->mutable_received()
                         : reattach->add_spawned()->mutable_received();
    to->Add(bytes.begin(), bytes.end());
    if (nspace.empty()) continue;
    reattach->mutable_spawned(reattach->spawned_size() - 1)->set_nspace(nspace);
  }
  events_.request(std::move(request));
}

// ------------------------------------------------------------------ events ---

void HostedLauncher::Send(v1::RunEvent event) {
  if (event.has_output()) return OnOutput(event.output());
  if (event.has_notice()) return WriteLine(event.notice());
  if (event.has_end()) return WriteLine(event.end().text());
}

void HostedLauncher::OnOutput(const v1::Output& output) {
  const JobSpec* const job = events_.job(output.nspace());
  const uint64_t size = output.data().size() + output.redirected();
  if (size == 0 || job == nullptr || output.rank() >= job->procs.size()) {
    return;
  }
  const uint32_t node = job->procs[output.rank()].node;
  received_[output.nspace()].resize(job->nodes.size());
  pieces_.push_back({output.nspace(), node, size});
  writer_->Write(output.channel() == kChannelStderr, Bytes(output.data()));
}

void HostedLauncher::WriteLine(const std::string& text) {
  if (text.empty()) return;
  pieces_.push_back({});
  writer_->Write(true, Bytes("canopy: " + text + "\n"));
}

void HostedLauncher::FinishWhenWritten() {
  finishing_ = true;
  FinishIfDone();
}

// Ends the launcher when all output is written. The call is posted, because
// this function may be called by the writer, which `gone` destroys.
void HostedLauncher::FinishIfDone() {
  if (!finishing_ || !pieces_.empty()) return;
  finishing_ = false;
  loop_->Post([alive = alive_, gone = events_.gone] {
    if (*alive) gone();
  });
}

// ------------------------------------------------------------------- files ---

void HostedLauncher::OnWritten(size_t pieces, const OutputPositions& at,
                               const Status& status) {
  if (!status.ok()) {
    events_.warn(status.message() + "; what follows is dropped");
  }
  uint64_t bytes = 0;
  for (size_t i = 0; i < pieces && !pieces_.empty(); ++i) {
    const Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    if (piece.bytes > 0) received_[piece.nspace][piece.node] += piece.bytes;
    bytes += piece.bytes;
  }
  events_.persist(State(at));
  if (bytes > 0) {
    v1::RunRequest request;
    request.set_consumed(bytes);
    events_.request(std::move(request));
  }
  FinishIfDone();
}

std::string HostedLauncher::State(const OutputPositions& at) const {
  StoredState state{at.output, at.error, {}};
  for (const auto& [nspace, bytes] : received_) {
    state.received.push_back({nspace, bytes});
  }
  return wire::Encode(state);
}

bool HostedLauncher::TakeState(std::string_view state, OutputPositions* at) {
  StoredState stored;
  if (state.empty() || !wire::Decode(state, &stored)) return false;
  at->output = stored.output;
  at->error = stored.error;
  for (auto& [nspace, bytes] : stored.received) {
    received_[std::move(nspace)] = std::move(bytes);
  }
  return true;
}

}  // namespace canopy::control
