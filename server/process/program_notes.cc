#include "server/process/program_notes.h"

#include <algorithm>
#include <utility>

#include "common/loader/library_fit.h"

namespace canopy::process {
namespace {

constexpr size_t kMaxReason = 1024;
constexpr size_t kMaxDetail = 16384;

// Returns the text of a note as one line. The text may contain any bytes of a
// program file; the controller makes it printable, because it cannot rely on
// agents to do so.
std::string Line(std::string text, size_t most) {
  text.resize(std::min(text.size(), most));
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string DetailOf(const loader::LibraryFinding& finding) {
  std::string text;
  for (const auto& [what, found] : finding.details) {
    const std::string line =
        Line(what, kMaxReason) + ": " + Line(found, kMaxReason) + "\n";
    if (text.size() + line.size() > kMaxDetail) return text + "...\n";
    text += line;
  }
  return text;
}

}  // namespace

std::vector<core::ProgramNote> NotesOf(const std::vector<std::string>& findings,
                                       bool explain) {
  std::vector<core::ProgramNote> notes;
  for (const std::string& bytes : findings) {
    loader::LibraryFinding finding;
    if (!loader::DecodeFinding(bytes, &finding)) continue;
    core::ProgramNote note;
    note.reason = Line(finding.reason, kMaxReason);
    if (explain) note.detail = DetailOf(finding);
    if (note.reason.empty() && note.detail.empty()) continue;
    const bool known = std::ranges::any_of(notes, [&](const auto& other) {
      return other.reason == note.reason && other.detail == note.detail;
    });
    if (!known) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace canopy::process
