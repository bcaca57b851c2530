#include "server/core/job/launch_phase.h"

#include <algorithm>

namespace canopy::core {

bool LaunchPhase::Complete(const std::vector<NodeId>& asked) const {
  return std::all_of(asked.begin(), asked.end(),
                     [this](NodeId n) { return answers_.contains(n); });
}

namespace {

// Merges the note into an equal one, if there is one.
void AddNote(const ProgramNote& note, std::vector<ProgramNote>* notes) {
  const auto equal = std::ranges::find_if(*notes, [&](const ProgramNote& n) {
    return n.reason == note.reason && n.detail == note.detail;
  });
  if (equal == notes->end()) {
    if (notes->size() < kMaxProgramNotes) notes->push_back(note);
    return;
  }
  equal->count += note.count;
  equal->nodes.insert(equal->nodes.end(), note.nodes.begin(), note.nodes.end());
  std::ranges::sort(equal->nodes);
  equal->nodes.resize(std::min(equal->nodes.size(), kMaxNamedNodes));
}

}  // namespace

PhaseAnswer LaunchPhase::Sum(const std::vector<NodeId>& asked) const {
  PhaseAnswer sum;
  for (const auto& [from, answer] : answers_) {
    // If a node is no longer in `asked`, its answer is included in the answer
    // of another node.
    if (std::ranges::count(asked, from) == 0) continue;
    sum.count += answer.count;
    if (answer.port != 0) sum.port = answer.port;
    for (const NodeError& e : answer.errors) {
      if (sum.errors.size() < kMaxNodeErrors) sum.errors.push_back(e);
    }
    for (const ProgramNote& note : answer.notes) AddNote(note, &sum.notes);
  }
  return sum;
}

}  // namespace canopy::core
