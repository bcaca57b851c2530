#include "server/pmi/spawn_text.h"

#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "server/pmi/spawn_request.h"

namespace canopy::pmi {
namespace {

constexpr std::string_view kBegin = "mcmd=spawn";
constexpr std::string_view kEnd = "endcmd";

// The lines NAME=VALUE of one command.
using Fields = std::map<std::string, std::string, std::less<>>;

std::string_view NextLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(text->size(), line.size() + 1));
  return line;
}

std::string_view FieldOf(const Fields& fields, const std::string& name) {
  const auto it = fields.find(name);
  return it == fields.end() ? std::string_view() : std::string_view(it->second);
}

// Returns no value if the field is missing or not a number.
std::optional<int> NumberOf(const Fields& fields, const std::string& name) {
  const std::string_view text = FieldOf(fields, name);
  int number = 0;
  const auto end =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size())
    return std::nullopt;
  return number;
}

// Calls `use` for each pair. The field NAME_num has the number of pairs; the
// first pair that is missing ends the list earlier.
template <typename Use>
void ForPairs(const Fields& fields, const std::string& name, Use use) {
  const int count = NumberOf(fields, name + "_num").value_or(0);
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    const auto key = fields.find(name + "_key_" + number);
    if (key == fields.end()) return;
    use(key->second, FieldOf(fields, name + "_val_" + number));
  }
}

Status ReadCommand(const Fields& fields, SpawnCommand* command) {
  const std::string_view program = FieldOf(fields, "execname");
  if (program.empty()) return Status(kErrBadParam, "no execname");
  command->argv.emplace_back(program);
  const int arguments = NumberOf(fields, "argcnt").value_or(0);
  for (int i = 1; i <= arguments; ++i) {
    const auto argument = fields.find("arg" + std::to_string(i));
    if (argument == fields.end()) return Status(kErrBadParam, "no such arg");
    command->argv.push_back(argument->second);
  }
  command->maxprocs = NumberOf(fields, "nprocs").value_or(0);
  if (command->maxprocs < 1) return Status(kErrBadParam, "no nprocs");
  ForPairs(fields, "info", [&](std::string_view key, std::string_view value) {
    command->AddHint(key, value);
  });
  return Status();
}

// Reads the pairs of a command, unless an earlier command had pairs, because
// each command repeats the same ones.
void ReadPreput(const Fields& fields, SpawnRequest* request) {
  if (!request->env.empty()) return;
  ForPairs(fields, "preput", [&](std::string_view key, std::string_view value) {
    request->AddPreput(key, value);
  });
}

Result<SpawnRequest> Read(std::string_view text) {
  SpawnRequest request;
  Fields fields;
  while (!text.empty()) {
    const std::string_view line = NextLine(&text);
    if (line == kEnd) {
      const Status status =
          ReadCommand(fields, &request.commands.emplace_back());
      if (!status.ok()) return status;
      ReadPreput(fields, &request);
      fields.clear();
    } else if (const size_t equals = line.find('='); equals != line.npos) {
      fields.insert_or_assign(std::string(line.substr(0, equals)),
                              std::string(line.substr(equals + 1)));
    }
  }
  return request;
}

}  // namespace

int SpawnText::Add(std::string_view line) {
  if (text_.size() + line.size() + 1 > kMaxSpawnBytes) return kErrOutOfResource;
  if (complete() || (!in_command_ && line != kBegin)) return kErrBadParam;
  text_.append(line).push_back('\n');
  if (line == kBegin) {
    in_command_ = true;
    last_ = true;
    total_.clear();
  } else if (line.starts_with("totspawns=")) {
    total_ = line.substr(line.find('=') + 1);
  } else if (line.starts_with("spawnssofar=")) {
    last_ = total_.empty() || line.substr(line.find('=') + 1) == total_;
  } else if (line == kEnd) {
    in_command_ = false;
  }
  return kSuccess;
}

std::string_view SpawnText::last_line() const {
  if (text_.empty()) return {};
  const std::string_view lines(text_.data(), text_.size() - 1);
  const size_t before = lines.rfind('\n');
  return before == lines.npos ? lines : lines.substr(before + 1);
}

Result<std::string> SpawnCallOfLines(std::string_view text) {
  Result<SpawnRequest> request = Read(text);
  if (!request.ok()) return request.status();
  return SpawnCallOf(std::move(request).value());
}

}  // namespace canopy::pmi
