#include "server/log/log_run.h"

#include <memory>
#include <utility>

#include "common/status.h"

namespace canopy::log {
namespace {

// A `once` request that is searching for a destination.
struct Search {
  LogPlaces places;
  LogRequestId id;
  LogPlan plan;
  TextDone done;
};

ProcessText TextOf(const LogRequestId& id, const LogPlan& plan) {
  ProcessText text;
  text.proc = id.proc;
  text.client = id.client;
  text.request = id.request;
  text.again = id.again;
  text.key = plan.key;
  text.value = plan.value;
  return text;
}

ProcessText::Piece PieceOf(Entry entry) {
  return {entry.channel == Channel::kStderr, std::move(entry.text)};
}

int ToSyslog(const LogPlaces& places, const LogRequestId& id,
             const LogPlan& plan, const Entry& entry) {
  if (!places.put_syslog) return kErrNotSupported;
  return places.put_syslog({id.proc, entry.priority, plan.time, entry.text});
}

void ToOutput(const LogPlaces& places, ProcessText text, TextDone done) {
  if (!places.put_text) return done(kErrNotSupported);
  places.put_text(std::move(text), std::move(done));
}

void TryFrom(const std::shared_ptr<Search>& search, size_t at, int status) {
  if (at == search->plan.entries.size()) return search->done(status);
  Entry& entry = search->plan.entries[at];
  const auto next = [search, at](int result) {
    if (result == kSuccess) return search->done(kSuccess);
    TryFrom(search, at + 1, result);
  };
  if (entry.channel == Channel::kSyslog) {
    return next(ToSyslog(search->places, search->id, search->plan, entry));
  }
  ProcessText text = TextOf(search->id, search->plan);
  text.pieces.push_back(PieceOf(std::move(entry)));
  ToOutput(search->places, std::move(text), next);
}

// The result of a request with several destinations.
struct Outcome {
  bool any = false;
  int failure = kSuccess;  // the first failure
  void Add(int status) {
    any = any || status == kSuccess;
    if (failure == kSuccess) failure = status;
  }
  int Of(int planned) const {
    if (failure == kSuccess) return planned;
    return any ? kErrPartialSuccess : failure;
  }
};

void ToAll(const LogPlaces& places, const LogRequestId& id, LogPlan plan,
           TextDone done) {
  Outcome outcome;
  ProcessText text = TextOf(id, plan);
  for (Entry& entry : plan.entries) {
    if (entry.channel == Channel::kSyslog) {
      outcome.Add(ToSyslog(places, id, plan, entry));
    } else {
      text.pieces.push_back(PieceOf(std::move(entry)));
    }
  }
  const int planned = plan.status;
  if (text.pieces.empty()) return done(outcome.Of(planned));
  ToOutput(places, std::move(text),
           [outcome, planned, done = std::move(done)](int status) mutable {
             outcome.Add(status);
             done(outcome.Of(planned));
           });
}

}  // namespace

void RunLog(const LogPlaces& places, const LogRequestId& id, LogPlan plan,
            TextDone done) {
  if (plan.entries.empty()) return done(plan.status);
  if (!plan.once) return ToAll(places, id, std::move(plan), std::move(done));
  TryFrom(std::make_shared<Search>(
              Search{places, id, std::move(plan), std::move(done)}),
          0, kErrNotSupported);
}

}  // namespace canopy::log
