// The lines by which a PMI-1 client requests processes.
#ifndef CANOPY_SERVER_PMI_SPAWN_TEXT_H_
#define CANOPY_SERVER_PMI_SPAWN_TEXT_H_

#include <string>
#include <string_view>

#include "common/status.h"

namespace canopy::pmi {

// The limit of the bytes of one request. A request consists of its commands,
// one after the other. The arguments and hints of each command are between
// "mcmd=spawn" and "endcmd".
inline constexpr size_t kMaxSpawnBytes = 1 << 20;

// Collects the lines in the order of arrival. Used by one thread.
class SpawnText {
 public:
  // Adds the next line, without its end. Returns kErrOutOfResource if there are
  // more than kMaxSpawnBytes, and kErrBadParam if the last command is complete,
  // or if another line than "mcmd=spawn" begins a command.
  [[nodiscard]] int Add(std::string_view line);
  // Returns true if the last command is complete.
  bool complete() const { return !in_command_ && last_; }
  // Returns all lines with their ends.
  const std::string& text() const { return text_; }
  // Returns the last line without its end; empty if there is none.
  std::string_view last_line() const;

 private:
  std::string text_;
  std::string total_;  // number of commands, as the client states it
  bool in_command_ = false;
  bool last_ = false;  // the current command is the last of `total_`
};

// Returns the call of PMIx_Spawn for the lines of a complete text (see
// spawn_request.h). Returns kErrBadParam with the reason if they are invalid.
Result<std::string> SpawnCallOfLines(std::string_view text);

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_SPAWN_TEXT_H_
