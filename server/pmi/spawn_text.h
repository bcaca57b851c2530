// The lines with which a PMI-1 client asks for processes, and what they mean.
#ifndef CANOPY_SERVER_PMI_SPAWN_TEXT_H_
#define CANOPY_SERVER_PMI_SPAWN_TEXT_H_

#include <string>
#include <string_view>

#include "common/status.h"

namespace canopy::pmi {

// All lines of one request, of at most this many bytes: arguments and hints of
// one command between "mcmd=spawn" and "endcmd", then the next command.
inline constexpr size_t kMaxSpawnBytes = 1 << 20;

// The lines as they come. Not synchronised.
class SpawnText {
 public:
  // The next line, without its end. kErrOutOfResource: that is more than
  // kMaxSpawnBytes. kErrBadParam: no line of a spawn was expected, or none but
  // "mcmd=spawn".
  [[nodiscard]] int Add(std::string_view line);
  // The last of the commands has come.
  bool complete() const { return !in_command_ && last_; }
  // Every line with its end.
  const std::string& text() const { return text_; }
  // Without its end; empty when there is none.
  std::string_view last_line() const;

 private:
  std::string text_;
  std::string total_;  // commands, as the client says
  bool in_command_ = false;
  bool last_ = false;  // of `total_` commands
};

// What PMIx_Spawn gets for the lines of a complete text (see spawn_request.h).
// kErrBadParam with the reason for what cannot be meant.
Result<std::string> SpawnCallOfLines(std::string_view text);

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_SPAWN_TEXT_H_
