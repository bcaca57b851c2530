#include "client/cli/run/program_notes.h"

#include "client/cli/base/table.h"

namespace canopy::cli {
namespace {

// Returns the nodes as text, for example "node1, node2 and 5 more".
std::string Where(const control::v1::ProgramNote& note) {
  std::string text;
  for (const std::string& node : note.nodes()) {
    text += (text.empty() ? "" : ", ") + node;
  }
  const auto named = static_cast<uint32_t>(note.nodes_size());
  if (note.count() > named) {
    text += " and " + std::to_string(note.count() - named) + " more";
  }
  return text;
}

}  // namespace

std::string NoteLine(const control::v1::ProgramNotes& notes, size_t num_nodes) {
  std::string line;
  uint64_t others = 0;
  for (const control::v1::ProgramNote& note : notes.notes()) {
    if (note.reason().empty()) continue;
    if (!line.empty()) {
      ++others;
      continue;
    }
    line = note.reason();
    if (note.count() < num_nodes) line += " (on " + Where(note) + ")";
  }
  if (others == 0) return line;
  return line + "; and " + Count(others, "other finding") +
         ", see 'canopy doctor PROGRAM'";
}

std::string NotesAtLength(const control::v1::ProgramNotes& notes) {
  std::string text;
  for (const control::v1::ProgramNote& note : notes.notes()) {
    text += "on " + Where(note) + ":\n";
    for (const std::string& line : note.detail()) text += "  " + line + "\n";
  }
  return text;
}

}  // namespace canopy::cli
