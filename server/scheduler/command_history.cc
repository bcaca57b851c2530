#include "server/scheduler/command_history.h"

#include <utility>

#include "common/describe.h"

namespace canopy::scheduler {
namespace {

// The stored form of a command.
struct StoredCommand {
  std::string id;
  int64_t at_ms = 0;
  std::string request;
  bool done = false;
  std::string result;  // v1::CommandResult, if `done`
};

template <typename V>
void Describe(V& v, wire::Is<StoredCommand> auto& m) {
  v.Field(1, m.id);
  v.Field(2, m.at_ms);
  v.Field(3, m.request);
  v.Field(4, m.done);
  v.Field(5, m.result);
}

}  // namespace

std::vector<std::string> CommandHistory::SetStore(
    ReportStore* store, const std::vector<std::string>& stored, int64_t now) {
  for (const std::string& entry : stored) Take(entry, now);
  store_ = store;
  std::vector<std::string> begun;
  for (const std::string& id : order_) {
    if (!known_[id].done) begun.push_back(id);
  }
  return begun;
}

void CommandHistory::Take(const std::string& entry, int64_t now) {
  StoredCommand stored;
  if (!wire::Decode(entry, &stored) || stored.id.empty() ||
      stored.at_ms + kMaxAgeMs < now) {
    return;
  }
  Known known;
  known.at_ms = stored.at_ms;
  known.request = std::move(stored.request);
  known.done = stored.done;
  if (known.done && !known.result.ParseFromString(stored.result)) return;
  *Add(stored.id) = std::move(known);
}

const CommandHistory::Known* CommandHistory::Find(const std::string& id,
                                                  int64_t now) const {
  const auto it = known_.find(id);
  const bool is_there =
      it != known_.end() && now <= it->second.at_ms + kMaxAgeMs;
  return is_there ? &it->second : nullptr;
}

// Returns the entry of the command, which is added as the newest one if it is
// unknown.
CommandHistory::Known* CommandHistory::Add(const std::string& id) {
  const auto [it, is_new] = known_.try_emplace(id);
  if (!is_new) return &it->second;
  order_.push_back(id);
  if (order_.size() > kMaxCommands) {
    known_.erase(order_.front());
    order_.pop_front();
  }
  return &it->second;
}

void CommandHistory::Begin(const std::string& id, const std::string& request,
                           int64_t now) {
  Known* const known = Add(id);
  *known = {};
  known->request = request;
  known->at_ms = now;
  Store(id, *known);
}

void CommandHistory::End(v1::CommandResult result, bool keep, int64_t now) {
  const std::string id = result.command_id();
  Known* const known = Add(id);
  known->done = true;
  known->at_ms = now;
  known->result = std::move(result);
  if (keep) Store(id, *known);
}

void CommandHistory::Forget(const std::string& id) {
  known_.erase(id);
  std::erase(order_, id);
}

void CommandHistory::Store(const std::string& id, const Known& known) {
  if (store_ == nullptr) return;
  const StoredCommand stored{
      id, known.at_ms, known.request, known.done,
      known.done ? known.result.SerializeAsString() : ""};
  const Status status = store_->AddCommand(wire::Encode(stored));
  if (status.ok() || std::exchange(warned_, true)) return;
  warn_(
      "that commands were executed would not survive a restart of this "
      "agent: " +
      status.message());
}

}  // namespace canopy::scheduler
