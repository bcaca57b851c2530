#include "server/pmi/pmi2_spawn.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "server/pmi/spawn_request.h"

namespace canopy::pmi {
namespace {

using Pair = std::pair<std::string, std::string>;

// Reads the pairs from the first to the last, and checks the counts against
// them.
class Reader {
 public:
  void Take(const Pair& pair) {
    const auto& [key, value] = pair;
    if (key == "subcmd") {
      EndCommand();
      in_commands_ = true;
      request_.commands.emplace_back().argv.push_back(value);
    } else if (in_commands_) {
      TakeOfCommand(key, value);
    } else if (key == "ncmds") {
      num_commands_ = NumberIn(value);
    } else if (key == "preputcount") {
      num_expected_ = NumberIn(value);
    } else {
      TakeOfList(key, "ppkey", "ppval", value);
    }
  }

  Result<std::string> Finish() && {
    EndCommand();
    if (!good_ || request_.commands.empty() ||
        num_commands_ != request_.commands.size()) {
      return Status(kErrBadParam, "its counts do not fit");
    }
    return SpawnCallOf(std::move(request_));
  }

 private:
  // Returns the number in the text, or a count that no list can have if the
  // text is not a number.
  static size_t NumberIn(std::string_view text) {
    size_t number = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    return read.ec == std::errc() && read.ptr == end ? number : SIZE_MAX;
  }

  void TakeOfCommand(const std::string& key, const std::string& value) {
    SpawnCommand& command = request_.commands.back();
    if (key == "maxprocs") {
      const size_t count = NumberIn(value);
      command.maxprocs = count <= INT32_MAX ? static_cast<int>(count) : 0;
    } else if (key == "argc") {
      num_arguments_ = NumberIn(value);
    } else if (key == "infokeycount") {
      num_expected_ = NumberIn(value);
    } else if (key.starts_with("argv")) {
      command.argv.push_back(value);
    } else {
      TakeOfList(key, "infokey", "infoval", value);
    }
  }

  // Takes a pair of a list, in which a key and its value alternate. Unknown
  // keys are ignored.
  void TakeOfList(const std::string& key, std::string_view first,
                  std::string_view second, const std::string& value) {
    if (key.starts_with(first)) {
      good_ = good_ && !has_key_;
      key_ = value;
      has_key_ = true;
    } else if (key.starts_with(second)) {
      good_ = good_ && has_key_;
      has_key_ = false;
      ++num_listed_;
      AddListed(value);
    }
  }

  void AddListed(const std::string& value) {
    if (in_commands_) {
      request_.commands.back().AddHint(key_, value);
    } else {
      request_.AddPreput(key_, value);
    }
  }

  // Checks the counts of a command. Also called for the part before the first
  // command.
  void EndCommand() {
    good_ = good_ && !has_key_ && num_listed_ == num_expected_;
    if (in_commands_) {
      good_ =
          good_ && request_.commands.back().argv.size() == num_arguments_ + 1;
    }
    num_listed_ = num_expected_ = num_arguments_ = 0;
  }

  SpawnRequest request_;
  std::string key_;  // its value follows
  bool has_key_ = false;
  bool in_commands_ = false;
  bool good_ = true;
  size_t num_commands_ = 0;   // as stated by the client
  size_t num_expected_ = 0;   // pairs of the list, as stated by the client
  size_t num_arguments_ = 0;  // arguments of the command, as stated by the
                              // client
  size_t num_listed_ = 0;     // pairs that were read
};

}  // namespace

Result<std::string> SpawnCallOfPairs(const std::vector<Pair>& pairs) {
  Reader reader;
  for (const Pair& pair : pairs) reader.Take(pair);
  return std::move(reader).Finish();
}

}  // namespace canopy::pmi
