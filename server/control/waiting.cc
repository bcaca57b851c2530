#include "server/control/waiting.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "server/core/event/local_holds.h"
#include "server/core/why.h"

namespace canopy::control {
namespace {

constexpr int kMaxNamed = 4;
constexpr size_t kMaxLine = 400;

std::string Describe(const core::MissingProc& missing,
                     const NodeName& node_name) {
  return missing.proc.nspace + " rank " + std::to_string(missing.proc.rank) +
         (missing.node == kNoNode ? "" : " on " + node_name(missing.node));
}

bool IsHold(std::string_view operation) {
  return operation == core::kHeldAtExec || operation == core::kHeldInProgram;
}

std::string Line(const v1::Waiting& waiting) {
  char age[32];
  std::snprintf(age, sizeof age, "%.1f s",
                static_cast<double>(waiting.age_ms()) / 1000);
  std::string text = waiting.operation() +
                     (waiting.held() ? " has lasted " : " has waited ") + age;
  const int named = std::min(waiting.missing_size(), kMaxNamed);
  for (int i = 0; i < named; ++i) {
    text += (i == 0 ? " for " : ", ") + waiting.missing(i);
  }
  if (waiting.missing_size() > named) {
    text += " and " + std::to_string(waiting.missing_size() - named) + " more";
  }
  return text;
}

}  // namespace

void FillWaiting(const std::vector<core::StateCollected>& collected,
                 const NodeName& node_name, v1::WhyReply* reply) {
  std::vector<core::StateAnswer> answers;
  for (const core::StateCollected& state : collected) {
    Result<core::StateAnswer> answer =
        core::DecodeStateAnswer(state.answer.view());
    if (answer.ok()) answers.push_back(*std::move(answer));
  }
  for (const core::Waiting& waiting : core::MergeWaiting(answers)) {
    v1::Waiting* out = reply->add_waiting();
    out->set_nspace(waiting.nspace);
    out->set_operation(waiting.operation);
    out->set_age_ms(waiting.age_ms);
    out->set_held(IsHold(waiting.operation));
    for (const core::MissingProc& missing : waiting.missing) {
      out->add_missing(Describe(missing, node_name));
    }
    if (waiting.more_missing != 0) {
      out->add_missing("and " + std::to_string(waiting.more_missing) + " more");
    }
  }
}

std::string WaitingLine(const v1::WhyReply& reply) {
  std::vector<const v1::Waiting*> all;
  for (const v1::Waiting& waiting : reply.waiting()) all.push_back(&waiting);
  std::ranges::stable_sort(all, [](const auto* a, const auto* b) {
    return a->age_ms() > b->age_ms();
  });
  std::string line;
  for (size_t i = 0; i < all.size(); ++i) {
    if (line.size() > kMaxLine) {
      return line + "; " + std::to_string(all.size() - i) + " more wait";
    }
    if (!line.empty()) line += "; ";
    line += Line(*all[i]);
  }
  return line;
}

}  // namespace canopy::control
