#include "common/hosts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/name_ranges.h"
#include "common/string_util.h"

namespace canopy {
namespace {

constexpr uint32_t kMaxSlots = 1u << 20;

Status BadCount(std::string_view entry) {
  return Status(kErrBadParam, "host '" + std::string(entry) +
                                  "' needs a number of slots after ':', as in "
                                  "node1:4");
}

Status NoName(std::string_view entry) {
  return Status(kErrBadParam,
                "'" + std::string(entry) + "' does not name a host");
}

// Returns true if the text may be a host's name. A name becomes a word of the
// command that reaches the host, so it must not look like an option of that
// command.
bool IsName(std::string_view text) {
  return !text.empty() && text[0] != '-' &&
         std::ranges::none_of(text, [](char c) {
           return static_cast<unsigned char>(c) <= ' ' || c == '=' || c == 0x7f;
         });
}

// Parses "NAME" or "NAME:N". An IPv6 address with colons must be in brackets.
Result<Host> ParseEntry(std::string_view text) {
  Host host;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return BadCount(text);
    host.name = text.substr(1, end - 1);
    if (!IsName(host.name)) return NoName(text);
    if (end + 1 == text.size()) return host;
    if (text[end + 1] != ':') return BadCount(text);
    const auto slots = ParseNumber(text.substr(end + 2), kMaxSlots);
    if (!slots || *slots == 0) return BadCount(text);
    host.slots = *slots;
    host.slots_given = true;
    return host;
  }
  size_t colon = text.find(':');
  // A text with several colons is an IPv6 address.
  if (text.rfind(':') != colon) colon = std::string_view::npos;
  host.name = text.substr(0, colon);
  if (!IsName(host.name)) return NoName(text);
  if (colon == std::string_view::npos) return host;
  const std::string_view count = text.substr(colon + 1);
  if (count == "*") return host;
  const auto slots = ParseNumber(count, kMaxSlots);
  if (!slots || *slots == 0) return BadCount(text);
  host.slots = *slots;
  host.slots_given = true;
  return host;
}

std::string NormalKey(std::string_view key) {
  std::string out(key);
  for (char& c : out) {
    if (c == '-') c = '_';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// The values of the words after the name on a line of a hostfile.
struct LineWords {
  std::optional<uint32_t> slots;
  std::optional<uint32_t> max_slots;
  std::string user;
};

Status ParseWord(const std::string& word, Host* host, LineWords* words) {
  const size_t equals = word.find('=');
  const std::string key = NormalKey(word.substr(0, equals));
  const std::string value =
      equals == std::string::npos ? "" : word.substr(equals + 1);
  if (key == "slots" || key == "cpus" || key == "count") {
    words->slots = ParseNumber(value, kMaxSlots);
    if (words->slots) return Status();
  } else if (key == "max_slots" || key == "slots_max" || key == "slot_max") {
    words->max_slots = ParseNumber(value, kMaxSlots);
    if (words->max_slots) return Status();
  } else if (key == "user" || key == "username" || key == "user_name") {
    words->user = value;
    if (!value.empty()) return Status();
  } else if (key == "alias" || key == "aliases") {
    for (std::string& alias : Split(value, ',')) {
      if (!alias.empty()) host->aliases.push_back(std::move(alias));
    }
    return Status();
  }
  return Status(kErrBadParam, "'" + word +
                                  "' is not valid; a name can be followed by "
                                  "slots=N, max_slots=N or aliases=A,B");
}

// Removes blanks around '=': "slots = 4" is the same as "slots=4".
std::string WithoutBlanksAroundEquals(std::string_view line) {
  std::string out;
  for (const char c : line) {
    const bool blank = c == ' ' || c == '\t' || c == '\r';
    if (blank && out.ends_with('=')) continue;
    if (c == '=') out = Trim(out);
    out += blank ? ' ' : c;
  }
  return out;
}

// Appends the hosts of one entry, which may be a list with ranges:
// "n[001-128,200]:4". An entry that begins with a bracket is an IPv6 address.
Status AddEntry(std::string_view entry, std::vector<Host>* hosts) {
  std::vector<std::string> names;
  if (entry.starts_with('[') || entry.find('[') == std::string_view::npos) {
    names.emplace_back(entry);
  } else if (!ExpandNames(entry, &names)) {
    return Status(kErrBadParam, "'" + std::string(entry.substr(0, 80)) +
                                    "' is not a list of hosts, as in "
                                    "n[001-128,200]");
  }
  if (hosts->size() + names.size() > kMaxListedNames) {
    return Status(kErrBadParam,
                  "more than " + std::to_string(kMaxListedNames) + " hosts");
  }
  for (const std::string& name : names) {
    Result<Host> host = ParseEntry(name);
    if (!host.ok()) return host.status();
    hosts->push_back(*std::move(host));
  }
  return Status();
}

// Applies the words after the name to one host of the line.
void ApplyWords(const LineWords& words, Host* host) {
  if (words.slots || words.max_slots) {
    host->slots = words.slots.value_or(UINT32_MAX);
    host->slots = std::min(host->slots, words.max_slots.value_or(UINT32_MAX));
    host->slots_given = true;
  }
  if (!words.user.empty() && host->name.find('@') == std::string::npos) {
    host->name = words.user + "@" + host->name;
  }
}

Status AddHostLine(std::string_view line, std::vector<Host>* hosts) {
  const std::vector<std::string> words =
      *SplitCommand(WithoutBlanksAroundEquals(line));
  const size_t first = hosts->size();
  if (Status s = AddEntry(words[0], hosts); !s.ok()) return s;
  Host common;  // the slots that the line gives each host
  LineWords said;
  for (size_t i = 1; i < words.size(); ++i) {
    if (Status s = ParseWord(words[i], &common, &said); !s.ok()) return s;
  }
  if (!common.aliases.empty() && hosts->size() > first + 1) {
    return Status(kErrBadParam, "aliases belong to a single host");
  }
  for (size_t i = first; i < hosts->size(); ++i) {
    ApplyWords(said, &(*hosts)[i]);
    (*hosts)[i].aliases = common.aliases;
  }
  return Status();
}

}  // namespace

Result<std::vector<Host>> ParseHostList(std::string_view text) {
  std::vector<Host> hosts;
  for (const std::string_view part : SplitOutsideBrackets(text)) {
    if (Status s = AddEntry(Trim(part), &hosts); !s.ok()) return s;
  }
  return hosts;
}

Result<std::vector<Host>> ParseHostfile(std::string_view content,
                                        const std::string& file) {
  std::vector<Host> hosts;
  size_t number = 0;
  for (const std::string& line : Split(content, '\n')) {
    ++number;
    const std::string_view text =
        Trim(std::string_view(line).substr(0, line.find('#')));
    if (text.empty()) continue;
    const std::string where = file + ":" + std::to_string(number) + ": ";
    if (text.find_first_of("'\"\\") != std::string_view::npos) {
      return Status(kErrBadParam, where + "quotes have no meaning here");
    }
    if (Status s = AddHostLine(text, &hosts); !s.ok()) {
      return Status(kErrBadParam, where + s.message());
    }
  }
  if (hosts.empty()) {
    return Status(kErrBadParam, "hostfile " + file + " names no host");
  }
  return hosts;
}

std::string HostOfAddress(std::string_view address) {
  std::string_view host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  return std::string(host);
}

}  // namespace canopy
