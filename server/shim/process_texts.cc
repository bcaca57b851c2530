#include "server/shim/process_texts.h"

#include <utility>

#include "common/bytes.h"
#include "common/status.h"

namespace canopy::process {
namespace {

// The delay between the first counted request and the output of the count.
constexpr int64_t kGatherNs = int64_t{2} * 1000 * 1000 * 1000;
constexpr size_t kMaxKinds = 256;
// The number of remembered answers. Only requests whose answer has not reached
// the agent or the client can be repeated, so few need to be remembered.
constexpr size_t kMaxAnswered = 4096;

size_t SizeOf(const TextRequest& request) {
  size_t size = 0;
  for (const TextPart& part : request.parts) size += part.text.size();
  return size;
}

// Returns the line in the form that Open MPI's launcher uses, because users and
// scripts search for it.
std::string CountLine(size_t n, const std::string& key,
                      const std::string& value) {
  return std::to_string(n) + " more process" + (n > 1 ? "es have" : " has") +
         " sent help message " + key + " / " + value + "\n";
}

}  // namespace

ProcessTexts::ProcessTexts(EventLoop* loop, OutputPump* pump,
                           MergesStderr merges_stderr)
    : loop_(loop), pump_(pump), merges_stderr_(std::move(merges_stderr)) {}

ProcessTexts::~ProcessTexts() { loop_->CancelTimer(timer_); }

uint16_t ProcessTexts::StreamOf(Rank rank, uint16_t channel) const {
  return merges_stderr_(rank) ? kChannelStdout : channel;
}

int ProcessTexts::Take(TextRequest request) {
  const Id id{request.client, request.request};
  const auto before = answered_before_.statuses.find(id);
  const bool is_known =
      request.again && before != answered_before_.statuses.end();
  const int status = is_known ? before->second : Print(request);
  NoteAnswer(id, status);
  return status;
}

void ProcessTexts::NoteAnswer(const Id& id, int status) {
  if (answered_.order.size() == kMaxAnswered) {
    answered_.statuses.erase(answered_.order.front());
    answered_.order.pop_front();
  }
  answered_.statuses[id] = status;
  answered_.order.push_back(id);
}

// Keeps only the answers to the current agent and to its predecessor, because a
// later agent may reuse a client's number.
void ProcessTexts::OnNewAgent() {
  answered_before_ = std::exchange(answered_, {});
}

int ProcessTexts::Print(TextRequest& request) {
  for (const TextPart& part : request.parts) {
    if (!pump_->HasStream(request.rank, StreamOf(request.rank, part.channel))) {
      return kErrNotFound;
    }
  }
  if (Gather(request)) return kSuccess;
  if (!pump_->HasRoom(request.parts.size(), SizeOf(request))) {
    return kErrOutOfResource;
  }
  NoteKind(request);
  for (TextPart& part : request.parts) {
    pump_->Put(request.rank, StreamOf(request.rank, part.channel),
               Bytes(std::move(part.text)));
  }
  return kSuccess;
}

void ProcessTexts::NoteKind(const TextRequest& request) {
  if (request.key.empty() || request.value.empty()) return;
  if (kinds_.size() < kMaxKinds) kinds_[{request.key, request.value}];
}

bool ProcessTexts::Gather(const TextRequest& request) {
  const auto it = kinds_.find({request.key, request.value});
  if (it == kinds_.end() || request.parts.empty()) return false;
  Gathered& gathered = it->second;
  gathered.ranks.insert(request.rank);
  gathered.rank = request.rank;
  gathered.channel = StreamOf(request.rank, request.parts.back().channel);
  if (timer_ == 0) {
    timer_ = loop_->AddTimer(kGatherNs, [this] { OnTimer(); });
  }
  return true;
}

// Prints the counts. If there is no room for a line, the counting continues.
void ProcessTexts::OnTimer() {
  timer_ = 0;
  for (auto& [kind, gathered] : kinds_) {
    if (gathered.ranks.empty()) continue;
    if (pump_->HasRoom(1, kMaxTextKind + 64)) {
      PrintCount(kind, &gathered);
    } else if (timer_ == 0) {
      timer_ = loop_->AddTimer(kGatherNs, [this] { OnTimer(); });
    }
  }
}

void ProcessTexts::OnStreamEnding(Rank rank, uint16_t channel) {
  for (auto& [kind, gathered] : kinds_) {
    if (gathered.ranks.empty() || gathered.rank != rank ||
        gathered.channel != channel) {
      continue;
    }
    PrintCount(kind, &gathered);
  }
}

void ProcessTexts::PrintCount(const Kind& kind, Gathered* gathered) {
  const std::string line =
      CountLine(gathered->ranks.size(), kind.first, kind.second);
  gathered->ranks.clear();
  pump_->Put(gathered->rank, gathered->channel, Bytes(line));
}

}  // namespace canopy::process
